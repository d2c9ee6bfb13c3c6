// Stand-in: the stand-in compiler only notes its defines.
