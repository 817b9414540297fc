"""How close is a text to one that the visitor gives?"""

from dataclasses import dataclass

from playground.denoisers import zoo
from playground.denoisers.zoo import Model
from playground.quality import words
from playground.similarity import Embedder, embedders


class _Words:
    """Words of any language, as `quality.words` has them: rouge-score's own tokenizer knows only a to z."""

    def tokenize(self, text: str) -> list[str]:
        return words(text)


@dataclass(frozen=True)
class Reference:
    """A text to compare with. `embedder` is None where no model has embeddings."""

    text: str
    embedder: Embedder | None

    @classmethod
    def of(cls, text: str, model: Model) -> "Reference":
        """Compare by the embeddings of `model`, or of the first model that has some."""
        if not hasattr(model.denoiser, "table"):
            named = next((name for name, family in zoo.catalogue().items() if family == "continuous"), None)
            model = zoo.load(named) if named else None
        return cls(text, embedders(model)[-1] if model else None)

    def compare(self, text: str) -> dict:
        """`bleu` (0-100, sacrebleu's of a single sentence, arXiv 1804.08771), `rouge_l` (F1 of the longest common
        subsequence of words, 0-1, Lin 2004) and `similarity` (cosine of embeddings)."""
        import sacrebleu  # here, as importing both takes a second
        from rouge_score.rouge_scorer import RougeScorer

        rouge = RougeScorer(["rougeL"], tokenizer=_Words()).score(self.text, text)["rougeL"]
        found = {"bleu": sacrebleu.sentence_bleu(text, [self.text]).score, "rouge_l": rouge.fmeasure}
        if self.embedder:
            ours, given = self.embedder.embed([text, self.text])
            found["similarity"] = float(ours @ given)
        return found

    def shares_words(self, texts: list[str]) -> bool:
        """Whether any text has a word of the reference."""
        own = {word for word in words(self.text) if word.isalnum()}
        return any(own & set(words(text)) for text in texts)
