"""Three-way merging of a registry's files: rows field by field, pages by rendering them again."""
