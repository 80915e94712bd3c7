"""The site's side of the pipelines: who starts a run, how it goes on, and what it brings back.

`known` lists the pipelines, `definition` says what each is made of, `asking` is what a page, a command or
the beat calls, `running` carries a run from its start to its end, `driving` is the process that runs it on
Spark.
"""
