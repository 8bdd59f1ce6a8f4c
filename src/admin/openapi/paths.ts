import type { Endpoint } from '../../catalogue/endpoint.ts'

/** A path as OpenAPI writes it. `own` is a parameter's name in the record, `shown` its name in the document. */
export interface PathTemplate {
  readonly path: string
  readonly names: readonly { readonly own: string; readonly shown: string }[]
}

/**
 * Paths that differ in the names of parameters only (`/agents/:agent_id`, `/agents/:agent_name`) are one path
 * to OpenAPI, which refuses two; they share the names of the first record that reads, else of the first.
 */
export function pathTemplates(catalogue: readonly Endpoint[]): (endpoint: Endpoint) => PathTemplate {
  const shown = new Map<string, readonly string[]>()
  const readsFirst = catalogue.toSorted((a, b) => Number(b.method === 'GET') - Number(a.method === 'GET'))
  for (const path of readsFirst.map(written)) if (!shown.has(shapeOf(path))) shown.set(shapeOf(path), namesOf(path))
  return (endpoint) => {
    const path = written(endpoint)
    const names = shown.get(shapeOf(path)) ?? []
    let at = 0
    return {
      path: path.replace(/:[^/]+/g, () => `{${names[at++]}}`),
      names: namesOf(path).map((own, index) => ({ own, shown: names[index] ?? own })),
    }
  }
}

/** OpenAPI knows one parameter in a place: several nodes stand as `*`, and the description names the lists. */
function written({ path, params }: Endpoint): string {
  const routed = Object.entries(params).filter(([, param]) => param.routePattern !== undefined)
  return routed.reduce((text, [name]) => text.replace(`:${name}`, '*'), path)
}

function shapeOf(path: string): string {
  return path.replace(/:[^/]+/g, ':')
}

function namesOf(path: string): readonly string[] {
  return (path.match(/:[^/]+/g) ?? []).map((name) => name.slice(1))
}

/** `GET /agents/:agent_id/key` → `getAgentsByAgentIdKey`. */
export function operationId({ method, path }: Endpoint): string {
  const words = path.split('/').filter((segment) => segment !== '')
  const named = words.map((word) => (word.startsWith(':') ? `By${camel(word.slice(1))}` : camel(word)))
  return method.toLowerCase() + (named.join('') || 'Root')
}

function camel(word: string): string {
  return word
    .split(/[^A-Za-z0-9]+/)
    .map((part) => part.charAt(0).toUpperCase() + part.slice(1))
    .join('')
}
