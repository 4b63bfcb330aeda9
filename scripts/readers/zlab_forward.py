"""z-lab's own model on a drafter that `draftsmith export` wrote, against the reference's numbers.

    python scripts/readers/zlab_forward.py DFLASH_REPO EXPORT VECTORS

DFLASH_REPO: a checkout of github.com/z-lab/dflash (tried: 44947fb). Needs torch, safetensors and
transformers 4.57.1. EXPORT is a drafter of test/golden/dflash as it was exported, VECTORS its
forward_*.safetensors there.
"""

import sys

import torch
import transformers
from safetensors.torch import load_file

repo, export, vectors = sys.argv[1:]
sys.path.insert(0, repo)
from dflash.model import DFlashDraftModel  # noqa: E402

print("torch", torch.__version__, "transformers", transformers.__version__)
stored = DFlashDraftModel.from_pretrained(export, dtype="auto").dtype
drafter, loading = DFlashDraftModel.from_pretrained(
    export, dtype=torch.float32, attn_implementation="eager", output_loading_info=True
)
left = {kind: names for kind, names in loading.items() if names}
print("weights", stored, "block", drafter.block_size, "layers", drafter.target_layer_ids, left)

wanted = load_file(vectors)
for tag in ("ctx1", "ctx7", "ctx30"):
    inputs = {
        name: wanted[f"{tag}.{name}"][None]
        for name in ("position_ids", "noise_embedding", "target_hidden")
    }
    with torch.no_grad():
        hidden = drafter.eval()(**inputs)[0]
    print(tag, "off by", (hidden - wanted[f"{tag}.hidden"]).abs().max().item())
