/** Reads, writes and deletes rule, decoder and list files and the main configuration of a node. */
import { readList } from '../data/list-files.ts'
import { indent, parseXml } from '../data/xml.ts'
import { FrameworkError, type SimHandlers, type SimNode, type SimRequest } from '../model.ts'
import { refusal } from '../texts.ts'

/** Returns the stored text byte for byte. With `validation=true` lists are parsed as XML too, as in the real API. */
function readFile({ node, query }: SimRequest): string {
  const path = query.path ?? ''
  const text = node.files.get(path)
  if (text === undefined) throw new FrameworkError(1005, `Error reading file: ${path}`)
  if (query.validation === 'true') {
    if (isList(path) && readList(text) === undefined) throw badList(path)
    checkXml(text)
  }
  return text
}

/** XML is stored with two spaces per level, so the stored text differs from the sent text, as recorded. */
function putFile(request: SimRequest): string {
  const { node, query, text } = request
  const path = query.path ?? ''
  if (text.trim() === '') throw refusal(1112)
  const stored = isList(path) ? tidyList(path, text) : indent(checkXml(text))
  if (node.files.has(path) && query.overwrite !== 'true') {
    throw new FrameworkError(1905, 'File was not updated because it already exists')
  }
  for (const holder of holdersOf(path, request)) holder.files.set(path, stored)
  return 'File updated successfully'
}

function deleteFile(request: SimRequest): string {
  const path = request.query.path ?? ''
  if (!request.node.files.has(path)) throw new FrameworkError(1906, `File does not exist: ${path}`)
  for (const holder of holdersOf(path, request)) holder.files.delete(path)
  return 'File was deleted'
}

/**
 * Copies the master's files to the workers at once; real workers synchronise every nine seconds. The main configuration
 * belongs to each node, and a file written on a worker remains there only.
 */
function holdersOf(path: string, { node, world }: SimRequest): readonly SimNode[] {
  return node.type === 'worker' || path === 'etc/ossec.conf' ? [node] : world.nodes
}

function isList(path: string): boolean {
  return path.startsWith('etc/lists/')
}

/** Trims values and removes empty lines. */
function tidyList(path: string, text: string): string {
  const pairs = readList(text)
  if (pairs === undefined) throw badList(path)
  return pairs.map(({ key, value }) => `${key}:${value}\n`).join('')
}

function checkXml(text: string) {
  try {
    return parseXml(text)
  } catch (fault) {
    throw refusal(1113, fault instanceof Error ? fault.message : undefined)
  }
}

function badList(path: string): FrameworkError {
  return new FrameworkError(1800, `Bad format in CDB list: ${path}`)
}

export const fileHandlers: SimHandlers = {
  'GET /manager/files': readFile,
  'POST /manager/files': putFile,
  'DELETE /manager/files': deleteFile,
}
