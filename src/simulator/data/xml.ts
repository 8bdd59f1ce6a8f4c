/**
 * The manager's dialect of XML (contract, semantics.md section 5): several top-level elements and a bare `&`
 * are fine, comments are kept. Both rules and settings are read from it, and uploads are indented with it.
 */
import { SaxesParser } from 'saxes'

export interface XmlElement {
  readonly name: string
  readonly attributes: Readonly<Record<string, string>>
  readonly children: readonly XmlNode[]
}

/** An element, text as it was meant (entities resolved), or a comment. */
export type XmlNode = XmlElement | { readonly text: string } | { readonly comment: string }

const BARE_AMPERSAND = /&(?!(?:amp|lt|gt|quot|apos|#[0-9]{1,7}|#x[0-9A-Fa-f]{1,6});)/g
/** The parser takes none in a fragment; the manager does. */
const DECLARATION = /^\s*<\?xml\s[^>]{0,200}?\?>/
const AMPERSAND_OF_ENTITY = /&(?=(?:amp|lt|gt|quot|apos|#[0-9]{1,7}|#x[0-9A-Fa-f]{1,6});)/g

interface Growing extends XmlElement {
  readonly children: XmlNode[]
}

/** The nodes of a text, in order. Throws an Error with the parser's reason where it is not well-formed. */
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
    innermost().children.push({ text: part })
  })
  parser.on('comment', (comment) => {
    innermost().children.push({ comment })
  })
  parser.write(text.replace(DECLARATION, '').replaceAll(BARE_AMPERSAND, '&amp;')).close()
  return root.children
}

export function isElement(node: XmlNode): node is XmlElement {
  return 'name' in node
}

/** The elements among the children, all of them or those of one name. */
export function elements(nodes: readonly XmlNode[], name?: string): XmlElement[] {
  return nodes.filter(isElement).filter((element) => name === undefined || element.name === name)
}

/** The text directly inside, without the blanks around it. */
export function textOf(element: XmlElement): string {
  return element.children
    .map((child) => ('text' in child ? child.text : ''))
    .join('')
    .trim()
}

/** Two blanks for each level, as the manager stores what was uploaded; entities are turned back. */
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

/** Only what would read back as something else; `>`, quotes and a bare `&` stay as the manager writes them. */
function escaped(text: string): string {
  return text.replaceAll(AMPERSAND_OF_ENTITY, '&amp;').replaceAll('<', '&lt;')
}
