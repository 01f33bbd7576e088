# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # From RNNs to BERT, built by hand
#
# Seven chapters, one idea each. You write every piece of a Transformer yourself; below each exercise, `check(...)` says at once
# what is right, and names the mistake where something isn't.
#
# Run the next cell to see where you are. It reads `progress.json` in this folder, where every `check` writes its outcome.

# %%
from utils import course_map

course_map()

# %% [markdown]
# **How a chapter works.** Read, run the worked example, fill in the stub, check. Three hints wait folded under every exercise, from a
# nudge to an outline. *What you should see* draws a picture that becomes right when your answer is. From chapter 03 on, a
# notebook takes your own earlier pieces where they pass their checks, and PyTorch's where they don't, so nobody gets stuck.
#
# **One convention for masks, everywhere:** `torch.bool`, `True` = may be attended.
#
# **Handing in.** Save the notebook and hand in the file under its own name. What is graded are the cells that you fill in; hidden tests run
# them on inputs that nobody has seen.
