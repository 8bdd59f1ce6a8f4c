/**
 * The manager's dialect of XML: several top-level elements, a bare `&` and `--` in comments are valid, and comments are
 * preserved. Rules and settings are parsed with it, and uploads are indented with it.
 */
import { SaxesParser } from 'saxes'

export interface XmlElement {
  readonly name: string
  readonly attributes: Readonly<Record<string, string>>
  readonly children: readonly XmlNode[]
}

/** An element, a text with resolved entities, or a comment. */
export type XmlNode = XmlElement | { readonly text: string } | { readonly comment: string }

const BARE_AMPERSAND = /&(?!(?:amp|lt|gt|quot|apos|#[0-9]{1,7}|#x[0-9A-Fa-f]{1,6});)/g
/** The parser rejects a declaration in a fragment; the manager accepts it. */
const DECLARATION = /^\s*<\?xml\s[^>]{0,200}?\?>/
const AMPERSAND_OF_ENTITY = /&(?=(?:amp|lt|gt|quot|apos|#[0-9]{1,7}|#x[0-9A-Fa-f]{1,6});)/g

const COMMENT = /<!--[\s\S]*?-->/g
/** Stands for `-` inside comments, where the parser accepts no two of them. */
const DASH = '\uE02D'

interface Growing extends XmlElement {
  readonly children: XmlNode[]
}

/** Returns the nodes of a text in order. Throws an Error with the parser's reason if the text is not well-formed. */
export function parseXml(text: string): XmlNode[] {
  const root: Growing = { name: '', attributes: {}, children: [] }
  const open: Growing[] = [root]
  const innermost = (): Growing => open.at(-1) ?? root
  const parser = new SaxesParser<{ fragment: true; position: true; xmlns: false }>({
    fragment: true,
    position: true,
    xmlns: false,
  })
  parser.on('error', (fault) => {
    throw new Error(fault.message)
  })
  parser.on('opentag', (tag) => {
    const element: Growing = { name: tag.name, attributes: { ...tag.attributes }, children: [] }
    innermost().children.push(element)
    open.push(element)
  })
  parser.on('closetag', () => {
    open.pop()
  })
  parser.on('text', (part) => {
    innermost().children.push({ text: part })
  })
  parser.on('cdata', (part) => {
    innermost().children.push({ text: part.replaceAll(DASH, '-') })
  })
  parser.on('comment', (comment) => {
    innermost().children.push({ comment: comment.replaceAll(DASH, '-') })
  })
  const withoutDashes = (comment: string) => `<!--${comment.slice(4, -3).replaceAll('-', DASH)}-->`
  const accepted = text.replace(DECLARATION, '').replaceAll(BARE_AMPERSAND, '&amp;').replaceAll(COMMENT, withoutDashes)
  parser.write(accepted).close()
  return root.children
}

export function isElement(node: XmlNode): node is XmlElement {
  return 'name' in node
}

/** Returns the child elements, all or those with one name. */
export function elements(nodes: readonly XmlNode[], name?: string): XmlElement[] {
  return nodes.filter(isElement).filter((element) => name === undefined || element.name === name)
}

/** Returns the trimmed text directly inside. */
export function textOf(element: XmlElement): string {
  return element.children
    .map((child) => ('text' in child ? child.text : ''))
    .join('')
    .trim()
}

/** Indents with two spaces per level, as the manager stores uploads, and escapes entities again. */
export function indent(nodes: readonly XmlNode[], depth = 0): string {
  const margin = '  '.repeat(depth)
  let lines = ''
  for (const node of nodes) {
    if (isElement(node)) lines += `${margin}${indentElement(node, depth)}\n`
    else if ('comment' in node) lines += `${margin}<!--${node.comment}-->\n`
    else if (node.text.trim() !== '') lines += `${margin}${escaped(node.text.trim())}\n`
  }
  return lines
}

function indentElement(element: XmlElement, depth: number): string {
  const attributes = Object.entries(element.attributes).map(
    ([name, value]) => ` ${name}="${escaped(value).replaceAll('"', '&quot;')}"`,
  )
  const tag = element.name + attributes.join('')
  const inside = element.children.filter((child) => !('text' in child) || child.text.trim() !== '')
  if (inside.length === 0) return `<${tag}/>`
  if (inside.every((child) => 'text' in child)) return `<${tag}>${escaped(textOf(element))}</${element.name}>`
  return `<${tag}>\n${indent(inside, depth + 1)}${'  '.repeat(depth)}</${element.name}>`
}

/** Escapes only what would otherwise be parsed differently; `>`, quotes and a bare `&` remain, as in the manager. */
function escaped(text: string): string {
  return text.replaceAll(AMPERSAND_OF_ENTITY, '&amp;').replaceAll('<', '&lt;')
}
