"""The recording script needs dp-accounting, in an environment of its own."""

collect_ignore = ["record_dp_accounting.py"]
