# SPDX-License-Identifier: Apache-2.0
"""Words and phrases that do not belong in reeve's text, each with what to write instead.

The keys are regular expressions over whole files: code, comments, documentation, scripts. In
sources an identifier is read as the words between its underscores."""

WORDS = {
    r"(?<!-o )(?<!USER )\b([Nn]obody|[Ss]omebody|[Ww]hoever)\b": "name the process or the person",
    r"\bdeeds?\b": "operation",
    r"\bmend(s|ed|ing)?\b": "fix, repair",
    r"(?<![Tt]here )\b(is|are|was|were) no (?!longer|more|such|way|less)[a-z]+": "write 'is not a'",
    r"\bso many\b": "N, this many",
    r", too(?=[.;:)]|\s*\*/|\s*$)": "also, earlier in the sentence",
    r"\b(is|are) fine\b|: fine\b": "is allowed, OK",
    r"\bfor good\b": "permanently",
    r"\bonce a while\b": "periodically",
    r"\bbeside\b": "besides, next to",
    r"\b[Ss]trangers?\b": "third-party client",
    r"\b(log|topic|record|brokers?|header|file) tells?\b": "according to, shows",
    r"\b(says?|said|saying) so\b": "reports it",
    r"(?<![Dd]ead )\bparked\b": "waiting",
    r"\b[Jj]udge[sd]?\b|\b[Jj]udgements?\b": "validate, decide",
    r"\bshelf\b": "pool",
    r"\blanes?\b": "queue",
    r"\bill\b": "unhealthy",
    r"\bwell (agents?|instances?)\b": "healthy",
    r"\bis told\b|\bare told\b": "active voice: X notifies Y",
    r"\bleisure\b": "name the delay",
    r"\bwho (dies|crashes|owns|reads|writes)\b": "the process that",
    r"\bin vain\b": "without effect",
    r"\b[Aa]new\b": "again; made anew: recreated",
    r"\bof no account\b": "does not matter",
    r"\bby and by\b": "gradually, in time",
    r"\bone that is well\b": "healthy",
}
