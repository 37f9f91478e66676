"""What holds for every test: nothing is left in the home folder, and the clock of a slow machine fails nobody."""

import atexit
import os
import shutil
import tempfile

from hypothesis import settings

# Airflow reads it at its first import and writes below it.
os.environ["AIRFLOW_HOME"] = tempfile.mkdtemp(prefix="airflow-home-")
atexit.register(shutil.rmtree, os.environ["AIRFLOW_HOME"], ignore_errors=True)

settings.register_profile("project", deadline=None)
settings.load_profile("project")
