/** Security configuration assessment: the policies of a host and the result of each check. */
import type { Machine } from '../machine.ts'
import { after, stamp } from '../times.ts'
import { type CheckText, checkTexts, type Policy, policies } from './policies.ts'

export interface ScaCheck extends Readonly<Record<string, unknown>> {
  readonly id: number
  readonly policy_id: string
  readonly result: string
  readonly compliance: readonly { readonly key: string; readonly value: string }[]
  readonly rules: readonly { readonly type: string; readonly rule: string }[]
}

/** The results of all policies of a host; `start` is when the last scan began. */
export function scaPolicies(machine: Machine, start: Date): Readonly<Record<string, unknown>>[] {
  return policiesOf(machine).map((policy, index) => {
    const results = scaChecks(machine, policy.id).map(({ result }) => result)
    const [pass, fail] = ['passed', 'failed'].map((each) => results.filter((result) => result === each).length)
    const at = stamp(after(start, index * 3))
    return {
      policy_id: policy.id,
      name: policy.name,
      description: policy.description,
      references: policy.references,
      total_checks: results.length,
      pass,
      fail,
      invalid: results.length - (pass ?? 0) - (fail ?? 0),
      score: Math.floor((100 * (pass ?? 0)) / Math.max(1, (pass ?? 0) + (fail ?? 0))),
      start_scan: at,
      end_scan: at,
      hash_file: machine.lasting(`policy ${policy.id}`).hex(64),
    }
  })
}

/** Returns the checks of one policy by id; empty if the policy does not apply to the host. */
export function scaChecks(machine: Machine, policyId: string): ScaCheck[] {
  const policy = policiesOf(machine).find(({ id }) => id === policyId)
  if (policy === undefined) return []
  const random = machine.lasting(`checks ${policyId}`)
  return checkTexts(policy).map((text, index): ScaCheck => {
    const fate = random.fraction()
    const result = fate < 0.5 ? 'passed' : fate < 0.85 ? 'failed' : ''
    return {
      id: policy.firstId + index,
      policy_id: policy.id,
      ...toFields(text),
      ...(result === '' ? { status: 'Not applicable', reason: 'Could not open the file' } : {}),
      result,
      references: policy.references,
      compliance: [
        { key: 'cis', value: text.section },
        { key: 'pci_dss', value: text.pci },
      ],
      rules: text.rules,
    }
  })
}

function toFields({ title, description, rationale, remediation, place, on }: CheckText) {
  return { title, description, rationale, remediation, [on]: place }
}

function policiesOf(machine: Machine): Policy[] {
  const debian = machine.os.platform === 'debian' || machine.os.platform === 'ubuntu'
  const families = machine.kind === 'linux' ? ['unix', debian ? 'debian' : 'rhel'] : [machine.kind]
  return policies.filter(({ family }) => families.includes(family))
}
