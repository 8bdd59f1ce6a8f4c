/** The path of a record as the router takes it. */
import type { Endpoint } from '../catalogue/endpoint.ts'

/** A parameter that takes some values alone stands with its pattern; the router tries it before one that takes any. */
export function routeUrl({ path, params }: Pick<Endpoint, 'path' | 'params'>): string {
  return Object.entries(params).reduce(
    (url, [name, { routePattern: routed }]) =>
      routed === undefined ? url : url.replace(`:${name}`, () => `:${name}(${routed})`),
    path,
  )
}
