/**
 * Checks uploaded XML before a node receives it. It is parsed as the manager parses it (several top-level elements, a bare
 * `&`), but without DOCTYPE, entity declarations and processing instructions.
 */
import { isUtf8 } from 'node:buffer'
import type { SaxesParser } from 'saxes'
import { EdgeError } from '../core/errors.ts'
import { slicesOf } from './body-contents.ts'
import { printable } from './parameters.ts'

const MAX_DEPTH = 64
const MAX_ATTRIBUTE_LENGTH = 64 * 1024
const MAX_ATTRIBUTES = 1000
/** Removed before parsing: the manager accepts a declaration, the parser does not accept one in a fragment. */
const DECLARATION = /^\s*<\?xml\s[^>]{0,200}?\?>/

/** Replaced before parsing: the manager accepts a bare `&` (contract), the parser does not. */
const BARE_AMPERSAND = /&(?!(?:amp|lt|gt|quot|apos|#[0-9]{1,7}|#x[0-9A-Fa-f]{1,6});)/g
/** Of `&#x10FFFF;`, `<![CDATA[`, `<!DOCTYPE` and others. */
const MAX_TOKEN_LENGTH = 12
const DOCTYPE = /<!(?:DOCTYPE|ENTITY)/i

/** Throws 703 with the reason of the parser if the file is not well-formed. */
export async function checkXml(bytes: Buffer): Promise<void> {
  // UTF-16 and UTF-32 contain zero bytes. UTF-7 and other encodings must be declared.
  if (!isUtf8(bytes) || bytes.includes(0)) throw invalid('The text is not UTF-8')
  const { SaxesParser } = await import('saxes')
  const parser = new SaxesParser({ fragment: true, position: true })
  const { checkCollected, elementCount } = rejectUnaccepted(parser)
  const { prepare, place } = createPreparation()
  let before = ''
  let isBlank = true
  for await (const [text, isLast] of slicesOf(bytes)) {
    if (DOCTYPE.test(before + text)) throw invalid('A DOCTYPE is not accepted')
    const slice = before === '' ? withoutDeclaration(text) : text
    before = text.slice(-MAX_TOKEN_LENGTH)
    // The parser would collect white space in front of the first element, and return it at once.
    isBlank &&= slice.trim() === ''
    if (isBlank) continue
    parser.write(prepare(slice, isLast))
    checkCollected(place())
  }
  parser.close()
  if (elementCount() === 0) throw invalid('Start tag expected')
}

/** Makes the parser throw for everything that is not accepted. */
function rejectUnaccepted(parser: SaxesParser) {
  let depth = 0
  let elements = 0
  let attributes = 0
  /** Of the attribute that the parser reads, without what the parser has collected since the last slice. */
  let valueLength = 0
  const checkText = (text: string) => {
    if (text.trim() !== '') throw invalid('Start tag expected')
  }
  const checkValue = (part: string) => {
    valueLength += part.length
    if (valueLength > MAX_ATTRIBUTE_LENGTH) throw invalid('An attribute is too long')
  }
  parser.on('error', (error) => {
    throw invalid(error.message.replace(/\.$/, ''))
  })
  parser.on('doctype', () => {
    throw invalid('A DOCTYPE is not accepted')
  })
  parser.on('processinginstruction', () => {
    throw invalid('A processing instruction is not accepted')
  })
  parser.on('text', checkText)
  parser.on('attribute', (attribute) => {
    attributes += 1
    if (attributes > MAX_ATTRIBUTES) throw invalid(`More than ${MAX_ATTRIBUTES} attributes`)
    checkValue(attribute.value)
    valueLength = 0
    // The parser keeps the attributes of all open elements, and compares their names only.
    attribute.value = ''
  })
  parser.on('opentagstart', () => {
    elements += 1
    // The content of elements is not checked. Without a listener, the parser does not collect it.
    parser.off('text')
    depth += 1
    attributes = 0
    if (depth > MAX_DEPTH) throw invalid(`More than ${MAX_DEPTH} levels`)
  })
  parser.on('closetag', () => {
    depth -= 1
  })
  return {
    elementCount: () => elements,
    /**
     * Checks and drops what the parser has collected of an attribute, a text, a comment or CDATA after each slice. The
     * parser needs 32 bytes for each line end or entity of them, and has no public access to it.
     */
    checkCollected: (place: Place) => {
      const collector = parser as unknown as { text: string }
      if (place === 'markup') (elements === 0 ? checkText : checkValue)(collector.text)
      collector.text = ''
    },
  }
}

function withoutDeclaration(start: string): string {
  const text = start.replace(/^\uFEFF/, '')
  const declaration = DECLARATION.exec(text)?.[0] ?? ''
  const encoding = /encoding\s*=\s*["']([^"']*)["']/.exec(declaration)?.[1]
  if (encoding !== undefined && !/^utf-?8$/i.test(encoding)) throw invalid('The text is not UTF-8')
  return text.slice(declaration.length)
}

/**
 * `prepare` makes slices of a file acceptable to the parser: it replaces a bare `&`, and `-` inside comments, since the
 * manager accepts `--` there. A comment inside CDATA, and CDATA inside a comment, are text. What may be the begin of a
 * token at the end of a slice is prepared with the next slice. `place` is where the last prepared slice ends.
 */
function createPreparation() {
  let rest = ''
  let place: Place = 'markup'
  const prepare = (slice: string, isLast: boolean) => {
    const text = rest + slice
    let prepared = ''
    let at = 0
    for (let token = nextToken(place, text, at); token !== null; token = nextToken(place, text, at)) {
      prepared += PREPARED[place](text.slice(at, token.index)) + token[0]
      at = token.index + token[0].length
      place = place !== 'markup' ? 'markup' : token[0] === '<!--' ? 'comment' : 'cdata'
    }
    const open = isLast ? -1 : text.slice(-MAX_TOKEN_LENGTH).search(/[&<\]-]/)
    const end = open < 0 ? text.length : Math.max(at, Math.max(0, text.length - MAX_TOKEN_LENGTH) + open)
    prepared += PREPARED[place](text.slice(at, end))
    rest = text.slice(end)
    return prepared
  }
  return { prepare, place: () => place }
}

/** What ends a place of the file. */
const NEXT = { markup: /<!--|<!\[CDATA\[/g, comment: /-->/g, cdata: /\]\]>/g }

type Place = keyof typeof NEXT

const PREPARED: Readonly<Record<Place, (text: string) => string>> = {
  markup: (text) => text.replaceAll(BARE_AMPERSAND, '+'),
  comment: (text) => text.replaceAll('-', '.'),
  // The parser reads brackets one by one.
  cdata: (text) => text.replaceAll(']', '.'),
}

function nextToken(place: Place, text: string, from: number): RegExpExecArray | null {
  NEXT[place].lastIndex = from
  return NEXT[place].exec(text)
}

function invalid(reason: string): EdgeError {
  return new EdgeError(703, `. ${printable(reason)}.`)
}
