/** Files of rules, decoders and lists: read, written and deleted by their bare name. */
import { readList } from '../../data/list-files.ts'
import { elements, parseXml, textOf, type XmlElement, type XmlNode } from '../../data/xml.ts'
import type { SimNode, World } from '../../model.ts'
import { type Answer, affected } from '../answers.ts'
import { type ErrorCode, V4Error } from '../errors.ts'
import type { Asked, Call } from '../model.ts'
import { isTrue } from '../parameters.ts'
import { later } from './later.ts'

interface Kind {
  readonly path: '/rules/files' | '/decoders/files' | '/lists/files'
  /** The folder of the user's own files; others are read only. */
  readonly own: string
  readonly folders: readonly string[]
  readonly missing: ErrorCode
  readonly resource: 'rule:file' | 'decoder:file' | 'list:file'
  readonly actions: 'rules' | 'decoders' | 'lists'
  readonly texts: Readonly<Record<'read' | 'notRead' | 'put' | 'notPut' | 'deleted' | 'notDeleted', string>>
  /** The node's own cache holds what it read. */
  readonly cached?: true
  check(content: string): void
  parse(content: string): unknown
}

function checkXml(content: string): void {
  try {
    const [first] = parseXml(content).filter((node) => !('text' in node) || node.text.trim() !== '')
    if (first === undefined || 'text' in first) throw new Error('syntax error')
  } catch {
    throw new V4Error(1113)
  }
}

function checkList(content: string): void {
  if (readList(content) === undefined) throw new V4Error(1800)
}

/** Attributes have an `@`, texts beside them a `#text`, and repeated elements are a list. */
function toObject(nodes: readonly XmlNode[]): Record<string, unknown> {
  const object: Record<string, unknown> = {}
  for (const element of elements(nodes)) {
    const value = toValue(element)
    const before = object[element.name]
    object[element.name] = before === undefined ? value : [...(Array.isArray(before) ? before : [before]), value]
  }
  return object
}

function toValue(element: XmlElement): unknown {
  const attributes = Object.entries(element.attributes).map(([name, value]) => [`@${name}`, value])
  const inner = toObject(element.children)
  const content = textOf(element)
  if (attributes.length === 0 && Object.keys(inner).length === 0) return content === '' ? null : content
  return { ...Object.fromEntries(attributes), ...inner, ...(content === '' ? {} : { '#text': content }) }
}

const kinds: readonly Kind[] = [
  {
    path: '/rules/files',
    own: 'etc/rules',
    folders: ['etc/rules', 'ruleset/rules'],
    missing: 1415,
    resource: 'rule:file',
    actions: 'rules',
    texts: {
      read: 'Selected rule was returned',
      notRead: 'No rule was returned',
      put: 'Rule was successfully uploaded',
      notPut: 'Could not upload rule',
      deleted: 'Rule was successfully deleted',
      notDeleted: 'Could not delete rule',
    },
    cached: true,
    check: checkXml,
    parse: (content) => toObject(parseXml(content)),
  },
  {
    path: '/decoders/files',
    own: 'etc/decoders',
    folders: ['etc/decoders', 'ruleset/decoders'],
    missing: 1503,
    resource: 'decoder:file',
    actions: 'decoders',
    texts: {
      read: 'Selected decoder was returned',
      notRead: 'No decoder was returned',
      put: 'Decoder was successfully uploaded',
      notPut: 'Could not upload decoder',
      deleted: 'Decoder file was successfully deleted',
      notDeleted: 'Could not delete decoder file',
    },
    check: checkXml,
    parse: (content) => toObject(parseXml(content)),
  },
  {
    path: '/lists/files',
    own: 'etc/lists',
    folders: ['etc/lists'],
    missing: 1802,
    resource: 'list:file',
    actions: 'lists',
    texts: {
      read: 'CDB list was returned',
      notRead: 'No list was returned',
      put: 'CDB list file uploaded successfully',
      notPut: 'Could not upload CDB list file',
      deleted: 'CDB list file was successfully deleted',
      notDeleted: 'Could not delete CDB list file',
    },
    check: checkList,
    parse: (content) => Object.fromEntries((readList(content) ?? []).map(({ key, value }) => [key, value])),
  },
]

/** Files in folders below are found by their bare name too. */
function pathOf({ folders }: Kind, { files }: SimNode, name: string): string | undefined {
  for (const folder of folders) if (files.has(`${folder}/${name}`)) return `${folder}/${name}`
  return [...files.keys()].find(
    (path) => path.endsWith(`/${name}`) && folders.some((one) => path.startsWith(`${one}/`)),
  )
}

function failed(id: string, code: ErrorCode): Answer {
  return affected([], { failed: [{ id, error: new V4Error(code) }] })
}

function read(kind: Kind, { node, params, query }: Asked): Answer {
  const name = params.filename ?? ''
  const path = pathOf(kind, node, name)
  if (path === undefined) return failed(name, kind.missing)
  const content = node.files.get(path) ?? ''
  if (!isTrue(query.raw)) return affected([kind.parse(content)])
  return { kind: 'file', text: content, type: kind.actions === 'lists' ? 'text/plain' : 'application/xml' }
}

/** The text is stored as it was sent. */
function put(kind: Kind, { world, node, params, query, text: content }: Asked): Answer {
  if (content === '') throw new V4Error(1912)
  const path = `${kind.own}/${params.filename}`
  try {
    kind.check(content)
  } catch (error) {
    if (!(error instanceof V4Error)) throw error
    return affected([], { failed: [{ id: path, error }] })
  }
  if (node.files.has(path) && !isTrue(query.overwrite)) return failed(path, 1905)
  change(world, node, (holder) => holder.files.set(path, content))
  return affected([path])
}

function remove(kind: Kind, { world, node, params }: Asked): Answer {
  const path = `${kind.own}/${params.filename}`
  if (!node.files.has(path)) return failed(path, 1906)
  change(world, node, (holder) => holder.files.delete(path))
  return affected([path])
}

/** Workers copy the files of the master; real ones every nine seconds. */
function change(world: World, master: SimNode, act: (holder: SimNode) => void): void {
  act(master)
  later(world.copyDelay, () => {
    for (const node of world.nodes) if (node !== master) act(node)
  })
}

function callsOf(kind: Kind): Call[] {
  const { path, resource, actions, texts } = kind
  const named = { type: resource, named: { in: 'path', as: 'filename' } } as const
  const common = { path: `${path}/{filename}` } as const
  const said = (all: string, none: string) => ({ all, some: none, none })
  return [
    {
      ...common,
      method: 'GET',
      runs: 'here',
      needs: [{ action: `${actions}:read`, ...named }],
      texts: said(texts.read, texts.notRead),
      ...(kind.cached ? { cached: true } : {}),
      run: (asked) => read(kind, asked),
    },
    {
      ...common,
      method: 'PUT',
      runs: 'master',
      needs: [{ action: `${actions}:update`, type: '*:*', named: 'whole' }],
      texts: said(texts.put, texts.notPut),
      run: (asked) => put(kind, asked),
    },
    {
      ...common,
      method: 'DELETE',
      runs: 'master',
      needs: [{ action: `${actions}:delete`, ...named }],
      texts: said(texts.deleted, texts.notDeleted),
      run: (asked) => remove(kind, asked),
    },
  ]
}

export const fileCalls: readonly Call[] = kinds.flatMap(callsOf)
