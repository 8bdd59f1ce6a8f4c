/** The length of a document: words as `wc -w` counts them, and the sentences of its prose. */

export interface Length {
  readonly words: number
  /** Words of the median sentence. */
  readonly sentence: number
}

export function lengthOf(text: string): Length {
  const lengths = sentencesOf(text)
    .map((sentence) => wordsOf(sentence).length)
    .sort((a, b) => a - b)
  return { words: wordsOf(text).length, sentence: lengths[lengths.length >> 1] ?? 0 }
}

const wordsOf = (text: string): readonly string[] => text.split(/\s+/).filter((word) => word !== '')

/** Returns the sentences of paragraphs and lists. Code, tables and headings have none. */
function sentencesOf(text: string): readonly string[] {
  const prose = text.replace(/```.*?```|<!--.*?-->/gs, '\n').replace(/^(?:#+ |\||!\[).*$/gm, '\n')
  const paragraphs = prose.split(/\n\s*\n|\n(?=\s*(?:[-*]|\d+\.) )/)
  return paragraphs.flatMap((paragraph) =>
    paragraph
      .replace(/^\s*(?:[-*]|\d+\.) /, '')
      .split(/(?<=[.!?:])\**\s+(?=[A-Z`*[])/)
      .filter((sentence) => wordsOf(sentence).length > 1),
  )
}
