/** Creates the users, roles and policies that the recorded cluster had, through the API. */
import type { ContractExchange } from '../../../../../test/contract/v4-contract/exchanges.ts'
import type { Simulator } from '../../../src/index.ts'
import { basic, call, parseBody } from '../ask.ts'
import { PASSWORD } from './world.ts'

interface Named {
  readonly id: number
  readonly name: string
}

interface Role extends Named {
  readonly policies: readonly number[]
}

interface Policy extends Named {
  readonly policy: unknown
}

export interface RecordedUser {
  readonly id: number
  readonly username: string
  readonly roles: readonly number[]
}

const FIRST_OWN = 100

/** `users`: those beside the administrators, in the order of their numbers. */
export async function createAccounts(
  simulator: Simulator,
  exchanges: readonly ContractExchange[],
  users: readonly RecordedUser[],
): Promise<void> {
  const url = simulator.nodes[0]?.url ?? ''
  const authorization = basic('wazuh', PASSWORD)
  const token = (await call(`${url}/security/user/authenticate?raw=true`, 'POST', { authorization })).text
  const post = async (path: string, body?: unknown) => {
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
    const text = body === undefined ? '' : JSON.stringify(body)
    const response = await call(`${url}/security/${path}`, 'POST', headers, text)
    if (response.json?.error !== 0) throw new Error(`POST ${path} ${text}: ${response.text}`)
  }
  for (const { name, policy } of ownOf<Policy>(exchanges, 'policies')) await post('policies', { name, policy })
  for (const { id, name, policies } of ownOf<Role>(exchanges, 'roles')) {
    await post('roles', { name })
    if (policies.length > 0) await post(`roles/${id}/policies?policy_ids=${policies.join()}`)
  }
  for (const { id, username, roles } of users) {
    await post('users', { username, password: PASSWORD })
    await post(`users/${id}/roles?role_ids=${roles.join()}`)
  }
}

/** Returns the recorded objects that do not belong to every installation. */
function ownOf<T extends Named>(exchanges: readonly ContractExchange[], kind: string): readonly T[] {
  const found = exchanges.find(({ request: { method, path }, user }) => {
    return method === 'GET' && path === `/security/${kind}` && user === 'administrator'
  })
  const items = (parseBody(found?.response.body ?? '')?.data?.affected_items ?? []) as readonly T[]
  return items.filter(({ id }) => id >= FIRST_OWN)
}
