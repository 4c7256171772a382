"""How means are estimated: functions of a plan and of an ask, which never see a record."""
