"""The rules that come with attnlint, one file each."""
