/** Markup that can hold no markup by mistake: what is put into `html` is escaped, unless it was made by `html`. */
export interface Html {
  readonly markup: string
}

type Part = string | number | Html | readonly Html[] | false | undefined

/** `html\`<p>${text}</p>\``: parts are escaped, lists are joined, absent ones leave nothing. */
export function html(texts: TemplateStringsArray, ...parts: readonly Part[]): Html {
  return { markup: texts.reduce((before, text, at) => before + written(parts[at - 1]) + text) }
}

function written(part: Part): string {
  if (part === undefined || part === false) return ''
  if (typeof part === 'string' || typeof part === 'number') return escaped(String(part))
  return 'markup' in part ? part.markup : part.map(({ markup }) => markup).join('')
}

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

function escaped(text: string): string {
  return text.replaceAll(/[&<>"']/g, (character) => entities[character] ?? '')
}
