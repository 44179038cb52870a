"""Operations as tables: syntax, verification, traits, typed views and builders."""
