"""Texts for calibration, and default prompts."""

#: A default prompt, then sentences of a children's book.
ENGLISH = (
    "Alice was beginning to get very tired of sitting by her sister on the bank, and of having "
    "nothing to do.",
    "What a curious feeling! said Alice; I must be shutting up like a telescope.",
    "The Queen turned crimson with fury, and, after glaring at her for a moment like a wild beast, "
    "began screaming.",
    "There was a table set out under a tree in front of the house, and the March Hare and the "
    "Hatter were having tea at it.",
    "Who are you? said the Caterpillar. I hardly know, sir, just at present, Alice replied rather "
    "shyly.",
    "In a minute or two the snow came down in large flakes, and the old man shut the door of his "
    "shop and went to bed.",
)

#: The same in Portuguese.
PORTUGUESE = (
    "Alice estava começando a ficar muito cansada de estar sentada ao lado de sua irmã.",
    "O que é isso? perguntou o homem, e não havia nada para fazer.",
    "Era uma vez um rei que tinha uma filha muito bonita.",
    "Depois de alguns minutos a porta abriu-se, e ela entrou na casa sem dizer uma palavra.",
)

#: Written for this purpose: news, reviews, questions, code, numbers, names.
MIXED = (
    "The finance minister said on Tuesday that the government would cut fuel taxes by 12 per cent "
    "from January, after prices had risen for the seventh month in a row. Opposition leaders "
    "called the plan too little and too late.",
    "A dull, predictable thriller whose only surprise is how long two hours can feel.",
    "One of the funniest films of the year: sharp, warm and wonderfully acted!",
    "How do I reset the password of my account if I no longer have the old phone?",
    "Firefighters from three states were sent to the region as strong winds drove the bushfires "
    "towards the coast. More than 4,000 residents spent the night in shelters; no deaths have been "
    "reported so far, police superintendent Maria Alvarez told reporters.",
    "def mean(values): return sum(values) / len(values)",
    "The match ended 3-2 after extra time.",
    "Mix the flour with two eggs, a pinch of salt and 250 ml of milk, and let the dough rest.",
    "Dr. Chen's team at Zürich measured the spin of a single electron at 0.3 kelvin.",
    "yes",
    "I don't know whether it's worth the money, but the battery lasts about nine hours and the "
    "screen isn't bad; shipping took forever, though.",
    "Scientists say the reef could lose most of its coral by 2050 unless the sea stops warming.",
)

#: A default prompt, then texts of many kinds, longer ones among them, and a turn of a conversation
#: as SmolLM2 was taught to hold it.
SMOLLM2 = (
    "The capital of France is",
    " ".join(MIXED[i] for i in (0, 1, 7, 10)),
    " ".join(MIXED[i] for i in (4, 6, 2, 11)),
    "\n".join(ENGLISH[1:]),
    "QUEEN:\nThou speak'st of grief, my lord, as if the word\nWere coin to pay thy debts with. "
    "Look upon me;\nI had two sons, and neither sees the morning.\n\nDUKE:\nPeace, good lady! The "
    "night hath ears, and these walls have betrayed better secrets.\n",
    "<|im_start|>user\nHow many legs do three spiders have? Explain.<|im_end|>\n"
    "<|im_start|>assistant\nA spider has 8 legs, so three spiders have 3 * 8 = 24 legs.<|im_end|>"
    "\n",
    MIXED[5],
)
