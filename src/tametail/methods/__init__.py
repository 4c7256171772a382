"""Methods: functions of ``ask`` and public numbers that never see a record."""
