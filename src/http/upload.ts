/**
 * What an uploaded file must be before a node sees it. XML is read as the manager's dialect (several top-level
 * elements, a bare `&`) but never with a DOCTYPE, an entity declaration or a processing instruction; the
 * parser is fed in slices, so that a large file does not hold up everybody else.
 */
import { isUtf8 } from 'node:buffer'
import { setImmediate as turn } from 'node:timers/promises'
import { SaxesParser } from 'saxes'
import { EdgeError } from '../errors.ts'
import { printable } from './parameters.ts'

const SLICE = 64 * 1024
const MAX_DEPTH = 64
const MAX_ATTRIBUTE = 64 * 1024
/** Taken off before parsing: the parser wants none in a fragment, the manager takes one. */
const DECLARATION = /^\s*<\?xml\s[^>]{0,200}?\?>/

/** Refuses what is not well-formed (703), with the parser's reason. */
export async function checkXml(bytes: Buffer): Promise<void> {
  const text = decodeXml(bytes)
  const parser = new SaxesParser({ fragment: true, position: true })
  let depth = 0
  let elements = 0
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
  parser.on('opentag', (tag) => {
    elements += 1
    depth += 1
    if (depth > MAX_DEPTH) throw invalid(`More than ${MAX_DEPTH} levels`)
    for (const value of Object.values(tag.attributes)) {
      if (value.length > MAX_ATTRIBUTE) throw invalid('An attribute is too long')
    }
  })
  parser.on('closetag', () => {
    depth -= 1
  })
  for (let from = 0; from < text.length; from += SLICE) {
    if (from > 0) await turn()
    parser.write(text.slice(from, from + SLICE))
  }
  parser.close()
  if (elements === 0) throw invalid('Start tag expected')
}

function decodeXml(bytes: Buffer): string {
  // UTF-16 and UTF-32 hold zero bytes; UTF-7 and others have to declare themselves.
  if (!isUtf8(bytes) || bytes.includes(0)) throw invalid('The text is not UTF-8')
  const text = bytes.toString('utf8').replace(/^\uFEFF/, '')
  if (/<!(?:DOCTYPE|ENTITY)/i.test(text)) throw invalid('A DOCTYPE is not accepted')
  const declaration = DECLARATION.exec(text)?.[0] ?? ''
  const encoding = /encoding\s*=\s*["']([^"']*)["']/.exec(declaration)?.[1]
  if (encoding !== undefined && !/^utf-?8$/i.test(encoding)) throw invalid('The text is not UTF-8')
  // The manager takes a bare `&` (contract, semantics.md section 5); the parser would not.
  return text
    .slice(declaration.length)
    .replaceAll(/&(?!(?:amp|lt|gt|quot|apos|#[0-9]{1,7}|#x[0-9A-Fa-f]{1,6});)/g, '&amp;')
}

function invalid(reason: string): EdgeError {
  return new EdgeError(703, `. ${printable(reason)}.`)
}

/** Refuses lines of a CDB list that are not `key:value` (705), naming the line. */
export function checkList(bytes: Buffer): void {
  if (!isUtf8(bytes)) throw new EdgeError(705, '. The text is not UTF-8')
  const lines = bytes.toString('utf8').split(/\r?\n/)
  for (const [index, line] of lines.entries()) {
    if (line.trim() === '') continue
    const colon = line.indexOf(':')
    if (colon <= 0 || line.includes(':', colon + 1) || line.slice(0, colon).trim() === '') {
      throw new EdgeError(705, `. Line ${index + 1}: ${printable(line)}`)
    }
  }
}
