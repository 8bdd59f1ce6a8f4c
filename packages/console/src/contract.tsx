/** The contract of a request or an entry. The name of a path of the newer one begins with `newer:`. */
import type { ClientPort } from '../../../src/status/view-types.ts'
import { Property } from './property.tsx'

export const contractNames: Readonly<Record<ClientPort['contract'], string>> = {
  classic: 'classic (releases 3.x)',
  newer: 'newer (releases 4.x)',
}

/** Also of a name with the method in front. */
const NEWER = /^(?:[A-Z]+ )?newer:\//

/** Shows the contract of an endpoint if it is the newer one. */
export function Contract({ of }: { readonly of: string }) {
  return NEWER.test(of) ? <Property name="Contract" value={contractNames.newer} /> : null
}
