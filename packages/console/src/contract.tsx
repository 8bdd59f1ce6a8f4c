/** The contract of a request or an entry. The name of a path of the v4 one begins with `v4:`. */
import type { ClientPort } from '../../../src/status/view-types.ts'
import { Property } from './property.tsx'

export const contractNames: Readonly<Record<ClientPort['contract'], string>> = {
  v3: 'v3 (releases 3.x)',
  v4: 'v4 (releases 4.x)',
}

/** Also of a name with the method in front. */
const V4 = /^(?:[A-Z]+ )?v4:\//

/** Shows the contract of an endpoint if it is the v4 one. */
export function Contract({ of }: { readonly of: string }) {
  return V4.test(of) ? <Property name="Contract" value={contractNames.v4} /> : null
}
