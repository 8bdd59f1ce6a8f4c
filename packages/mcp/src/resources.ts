/** Resources: reads without parameters by address, templates for the others, and the description of each operation. */
import type { ReadResourceResult, Resource, ResourceTemplate } from '@modelcontextprotocol/sdk/types.js'
import { ArgumentError, findOperation, isMandatory, type Operation, type Operations } from './operations.ts'
import { describe, read, type ToolPorts } from './tools.ts'

/** `edge://api/agents?limit=5` is read at the edge, `edge://operations/getAgents` is the description. */
const API = 'edge://api'
const OPERATIONS = 'edge://operations/'

export function listResources({ reads }: Operations): readonly Resource[] {
  const plain = reads.filter(({ record }) => !hasMandatory(record))
  return [
    ...plain.map(({ id, record }) => ({ uri: API + record.path, name: id, description: record.summary })),
    ...reads.map(({ id, record }) => ({
      uri: OPERATIONS + id,
      name: `description of ${id}`,
      description: `Parameters and cache policy of ${record.method} ${record.path}`,
      mimeType: 'text/markdown',
    })),
  ]
}

function hasMandatory(record: Operation['record']): boolean {
  return [...Object.keys(record.params), ...Object.keys(record.query)].some((name) => isMandatory(record, name))
}

export function listTemplates({ reads }: Operations): readonly ResourceTemplate[] {
  return reads
    .filter(({ record }) => hasMandatory(record))
    .map(({ id, record }) => {
      const mandatory = Object.keys(record.query).filter((name) => isMandatory(record, name))
      const query = mandatory.length === 0 ? '' : `{?${mandatory.join(',')}}`
      const uriTemplate = `${API}${record.path.replaceAll(/:(\w+)/g, '{$1}')}${query}`
      return { uriTemplate, name: id, description: record.summary }
    })
}

export async function readResource(ports: ToolPorts, uri: string): Promise<ReadResourceResult> {
  const { reads } = ports.operations
  if (uri.startsWith(OPERATIONS)) {
    const text = describe(findOperation(reads, uri.slice(OPERATIONS.length)))
    return { contents: [{ uri, mimeType: 'text/markdown', text }] }
  }
  const { operation, parameters } = parseAddress(reads, uri)
  const { content } = await read(ports, operation, parameters, 0)
  const text = content.flatMap((block) => (block.type === 'text' ? [block.text] : [])).join('\n')
  return { contents: [{ uri, mimeType: 'text/plain', text, _meta: { untrusted: true } }] }
}

/** Of several operations whose path matches, the one with the fewest parameters is meant, as in the router. */
function parseAddress(
  reads: readonly Operation[],
  uri: string,
): { operation: Operation; parameters: Record<string, string> } {
  const [path = '', query = ''] = uri.startsWith(`${API}/`) ? uri.slice(API.length).split('?', 2) : []
  const segments = path.split('/')
  const matches = reads.filter(({ record }) => {
    const parts = record.path.split('/')
    return parts.length === segments.length && parts.every((part, at) => part.startsWith(':') || part === segments[at])
  })
  const [operation] = matches.sort((a, b) => Object.keys(a.record.params).length - Object.keys(b.record.params).length)
  if (path === '' || operation === undefined)
    throw new ArgumentError('no read has this address; the lists of resources and templates have all')
  const parameters: Record<string, string> = Object.fromEntries(new URLSearchParams(query))
  for (const [at, part] of operation.record.path.split('/').entries())
    if (part.startsWith(':')) parameters[part.slice(1)] = decode(segments[at] ?? '')
  return { operation, parameters }
}

function decode(segment: string): string {
  try {
    return decodeURIComponent(segment)
  } catch {
    throw new ArgumentError('the address cannot be decoded')
  }
}
