"""The names that one width has in different configs, the commonest first."""

from __future__ import annotations

HIDDEN = ("hidden_size", "n_embd", "d_model", "n_embed")
INTERMEDIATE = ("intermediate_size", "n_inner", "ffn_dim", "ffn_hidden_size", "d_ff", "inner_dim")
LAYERS = ("num_hidden_layers", "n_layer", "n_layers", "num_layers")
VOCABULARY = ("vocab_size", "padded_vocab_size")
HEADS = ("num_attention_heads", "n_head", "n_heads", "num_heads")
KV_HEADS = ("num_key_value_heads", "num_kv_heads", "n_head_kv")
HEAD_DIM = ("head_dim", "kv_channels", "attention_head_dim")
POSITIONS = ("max_position_embeddings", "n_positions")
