import { catalogue } from '../../src/contracts/index.ts'

type Endpoint = (typeof catalogue)[number]

/** Returns the record with the most fixed segments that fits; `undefined`: no record has this path. */
export function recordOf({ method, path }: { readonly method: string; readonly path: string }): Endpoint | undefined {
  const segments = segmentsOf(path.replace(/\?.*/s, '').toLowerCase())
  // A parameter that only some values match comes before one that all values match, as in the router.
  const fixed = (record: Endpoint) =>
    segmentsOf(record.path).filter((part) => !part.startsWith(':')).length +
    Object.values(record.params).filter(({ routePattern }) => routePattern !== undefined).length / 2
  const fits = catalogue.filter((record) => {
    const parts = segmentsOf(record.path)
    const isSame = (part: string, index: number) =>
      part.startsWith(':') ? isRouted(record, part, segments[index] ?? '') : part === segments[index]
    return record.method === method && parts.length === segments.length && parts.every(isSame)
  })
  return fits.sort((a, b) => fixed(b) - fixed(a))[0]
}

function segmentsOf(path: string): readonly string[] {
  return path.split('/').filter(Boolean)
}

function isRouted({ params }: Endpoint, part: string, segment: string): boolean {
  const { routePattern } = (params as Endpoint['params'])[part.slice(1)] ?? {}
  return routePattern === undefined || new RegExp(routePattern).test(decodeURIComponent(segment))
}
