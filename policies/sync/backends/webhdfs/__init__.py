"""Access lists of HDFS, over WebHDFS."""
