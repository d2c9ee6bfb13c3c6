"""The gate where git lets one stand: which registries and commits a hook has to judge."""
