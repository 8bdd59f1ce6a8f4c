/** The section of an API description that has an operation. It follows from the path. */
import type { Endpoint } from '../../../src/contracts/endpoint.ts'

/** By the path, which has the section of the first pattern that matches. */
const v3Sections: readonly (readonly [pattern: RegExp, section: string])[] = [
  [/^\/agents\/(?:groups?\/|groups$|:agent_id\/group(?!\/is_sync))/, 'Agent groups'],
  [/^\/agents/, 'Agents'],
  [/^\/active-response/, 'Active response'],
  [/^\/cache/, 'Cache'],
  [/^\/(?:experimental\/)?ciscat/, 'CIS-CAT'],
  [/^\/(?:experimental\/)?syscollector/, 'Inventory (syscollector)'],
  [/^\/(?:experimental\/syscheck|rootcheck|syscheck|sca)/, 'Rootcheck, syscheck, SCA'],
  [/^\/(?:manager|cluster\/:node_id|cluster\/configuration)/, 'Manager and cluster nodes'],
  [/^\/cluster/, 'Cluster-only endpoints'],
  [/^\/(?:decoders|rules|lists)/, 'Decoders, rules, lists'],
  [/^\/summary/, 'Summary'],
  [/^\/security/, 'Authentication'],
  [/^/, 'Service'],
]

/** The first parts of paths of the v4 contract that are not the name of their section in lower case. */
const v4Sections: Readonly<Record<string, string>> = {
  '': 'API Info',
  'openapi.json': 'API Info',
  'openapi-v4.json': 'API Info',
  mitre: 'MITRE',
  sca: 'SCA',
}

export function sectionOf({ contract, path }: Pick<Endpoint, 'contract' | 'path'>): string {
  if (contract === 'v3') return v3Sections.find(([pattern]) => pattern.test(path))?.[1] ?? ''
  const [, first = ''] = path.split('/')
  return v4Sections[first] ?? first.charAt(0).toUpperCase() + first.slice(1)
}
