/**
 * What an uploaded file must be before a node sees it. XML is read as the manager's dialect (several top-level
 * elements, a bare `&`) but never with a DOCTYPE, an entity declaration or a processing instruction; all is
 * done in slices, so that a large file does not hold up everybody else.
 */
import { isUtf8 } from 'node:buffer'
import { setImmediate as turn } from 'node:timers/promises'
import { SaxesParser } from 'saxes'
import { EdgeError } from '../core/errors.ts'
import { printable } from './parameters.ts'

const SLICE = 64 * 1024
const MAX_DEPTH = 64
const MAX_ATTRIBUTE = 64 * 1024
const MAX_ATTRIBUTES = 1000
/** Lines, or comments, after which others have their turn. */
const MANY = 10_000
/** Taken off before parsing: the parser wants none in a fragment, the manager takes one. */
const DECLARATION = /^\s*<\?xml\s[^>]{0,200}?\?>/

/** Taken for text: the manager takes a bare `&` (contract, semantics.md section 5), the parser would not. */
const BARE_AMPERSAND = /&(?!(?:amp|lt|gt|quot|apos|#[0-9]{1,7}|#x[0-9A-Fa-f]{1,6});)/g
const LONGEST_ENTITY = 11

/** Refuses what is not well-formed (703), with the parser's reason. */
export async function checkXml(bytes: Buffer): Promise<void> {
  const text = await plainComments(decodeXml(bytes))
  const parser = new SaxesParser({ fragment: true, position: true })
  const elements = refuseWith(parser)
  for (let from = 0, to = 0; from < text.length; from = to) {
    if (from > 0) await turn()
    to = endOfSlice(text, from)
    parser.write(text.slice(from, to).replaceAll(BARE_AMPERSAND, '+'))
  }
  parser.close()
  if (elements() === 0) throw invalid('Start tag expected')
}

/** Never in the midst of an entity. */
function endOfSlice(text: string, from: number): number {
  const to = from + SLICE
  const ampersand = text.slice(to - LONGEST_ENTITY, to).lastIndexOf('&')
  return ampersand < 0 ? to : to - LONGEST_ENTITY + ampersand
}

/** Throws out of the parser for all that is not taken; gives the number of elements so far. */
function refuseWith(parser: SaxesParser): () => number {
  let depth = 0
  let elements = 0
  let attributes = 0
  parser.on('error', (fault) => {
    throw invalid(fault.message.replace(/\.$/, ''))
  })
  parser.on('doctype', () => {
    throw invalid('A DOCTYPE is not accepted')
  })
  parser.on('processinginstruction', () => {
    throw invalid('A processing instruction is not accepted')
  })
  parser.on('text', (between) => {
    if (elements === 0 && between.trim() !== '') throw invalid('Start tag expected')
  })
  parser.on('attribute', ({ value }) => {
    attributes += 1
    if (attributes > MAX_ATTRIBUTES) throw invalid(`More than ${MAX_ATTRIBUTES} attributes`)
    if (value.length > MAX_ATTRIBUTE) throw invalid('An attribute is too long')
  })
  parser.on('opentag', () => {
    elements += 1
    depth += 1
    attributes = 0
    if (depth > MAX_DEPTH) throw invalid(`More than ${MAX_DEPTH} levels`)
  })
  parser.on('closetag', () => {
    depth -= 1
  })
  return () => elements
}

function decodeXml(bytes: Buffer): string {
  // UTF-16 and UTF-32 hold zero bytes; UTF-7 and others have to declare themselves.
  if (!isUtf8(bytes) || bytes.includes(0)) throw invalid('The text is not UTF-8')
  const text = bytes.toString('utf8').replace(/^\uFEFF/, '')
  if (/<!(?:DOCTYPE|ENTITY)/i.test(text)) throw invalid('A DOCTYPE is not accepted')
  const declaration = DECLARATION.exec(text)?.[0] ?? ''
  const encoding = /encoding\s*=\s*["']([^"']*)["']/.exec(declaration)?.[1]
  if (encoding !== undefined && !/^utf-?8$/i.test(encoding)) throw invalid('The text is not UTF-8')
  return text.slice(declaration.length)
}

/**
 * The manager takes `--` inside a comment, as people write it; the parser would not. Comments and CDATA are told
 * apart, so that neither hides the other; each character is looked at once.
 */
async function plainComments(text: string): Promise<string> {
  const opening = /<!--|<!\[CDATA\[/g
  const parts: string[] = []
  let done = 0
  for (let found = opening.exec(text), count = 1; found !== null; found = opening.exec(text), count++) {
    if (count % MANY === 0) await turn()
    const isComment = found[0] === '<!--'
    const end = text.indexOf(isComment ? '-->' : ']]>', opening.lastIndex)
    if (end < 0) break
    if (isComment) {
      parts.push(text.slice(done, opening.lastIndex), text.slice(opening.lastIndex, end).replaceAll('-', '.'))
      done = end
    }
    opening.lastIndex = end + 3
  }
  return parts.join('') + text.slice(done)
}

function invalid(reason: string): EdgeError {
  return new EdgeError(703, `. ${printable(reason)}.`)
}

/** Refuses lines of a CDB list that are not `key:value` (705), naming the line. */
export async function checkList(bytes: Buffer): Promise<void> {
  if (!isUtf8(bytes)) throw new EdgeError(705, '. The text is not UTF-8')
  const text = bytes.toString('utf8')
  for (let from = 0, number = 1; from < text.length; number++) {
    if (number % MANY === 0) await turn()
    const found = text.indexOf('\n', from)
    const end = found < 0 ? text.length : found
    checkLine(text.slice(from, end), number)
    from = end + 1
  }
}

function checkLine(line: string, number: number): void {
  if (line.trim() === '') return
  const colon = line.indexOf(':')
  if (colon <= 0 || line.includes(':', colon + 1) || line.slice(0, colon).trim() === '') {
    throw new EdgeError(705, `. Line ${number}: ${printable(line)}`)
  }
}
