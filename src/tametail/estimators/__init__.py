"""Estimators: functions of a plan and of what ``ask`` answers. They never see records."""
