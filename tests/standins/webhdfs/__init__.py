"""A stand-in for HDFS behind WebHDFS, written from its documentation: a process that keeps its rules."""
