"""Settings: flags win over EHRQA_* variables, which win over the settings file.

The file is TOML, in the platform's configuration folder (``EHRQA_CONFIG`` names another). In it a
profile wins over what stands outside profiles. `fields.FIELDS` lists every setting.

    document   the file as text: its TOML, and the line of every key
    fields     what can be set, and what is a right value
    reading    what a file says, and what is wrong in it
    layers     file, profile, variables and flags laid over each other, with where each came from
    template   the commented file that ``ehrqa config init`` writes
"""

from ehrqa_cli.config.document import settings_file
from ehrqa_cli.config.fields import FIELDS, Field, Settings
from ehrqa_cli.config.layers import Resolved, every, load, problems, resolve, written
from ehrqa_cli.config.reading import Found, Problem, Written

__all__ = [
    "FIELDS",
    "Field",
    "Found",
    "Problem",
    "Resolved",
    "Settings",
    "Written",
    "every",
    "load",
    "problems",
    "resolve",
    "settings_file",
    "written",
]
