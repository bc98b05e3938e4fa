"""The files of an evaluation, by name: what its run directory and its run in MLflow hold."""

# One answer a line; scoring again needs nothing else.
PREDICTIONS = "predictions.jsonl"
# The seconds that each session of a resumed evaluation took.
SESSIONS = "sessions.jsonl"
# The prompt of a system that has one, as text.
PROMPT = "prompt.txt"
# The report (`reno_dspy.measure.result.Report`). Written last: an evaluation without it is unfinished.
REPORT = "report.json"
# Reliability diagram, of a system that gives its confidence.
RELIABILITY = "reliability.svg"
# One line a citation: what was found, missed and wrong in each field.
CITATIONS = "citations.csv"
# Human verdicts on wrong values (`reno review import`).
REVIEWS = "reviews"
