"""`python -m reno_dspy.cli`, the same as `reno`."""

from reno_dspy.cli.main import main

main()
