"""The tagger: an encoder labels every word of a reference in one pass, in onnxruntime.

    reno annotate refs.txt --out refs.xml

Training lives in `finetune.tagger`; nothing here needs PyTorch.
"""
