/** The schema of a value as errors print it: members by name, and where a shared parameter was described. */
import type { Param } from './parameter-types.ts'
import { repr } from './python.ts'

/** Shared parameters by name and format: what they are, and their name in the description of the API. */
const shared: Readonly<Record<string, readonly [description: string, name: string]>> = {
  'agents_list numbers': ['Agent ID', 'agents_list'],
  'agents_list numbers_or_all': ['Agent ID|all', 'agents_list_all'],
  'agent_id numbers': ['Agent ID', 'agent_id'],
  'group group_names': ['Group name', 'agent_group'],
  'group_id group_names': ['Group name', 'group_id'],
  'groups_list group_names': ['Group name', 'groups_list'],
  'groups_list group_names_or_all': ['Group name|all', 'groups_list_all'],
  'policy_id numbers': ['Policy ID', 'policy_id_rbac'],
  'policy_ids numbers': ['Policy ID', 'policy_ids_rbac'],
  'policy_ids numbers_or_all': ['Policy ID|all', 'policy_ids_rbac_all'],
  'role_id numbers': ['Role ID', 'role_id'],
  'role_ids numbers': ['Role ID', 'role_ids'],
  'role_ids numbers_or_all': ['Role ID|all', 'role_ids_all'],
  'rule_id numbers': ['Security rule ID', 'security_rule_id'],
  'rule_ids numbers': ['Security rule ID', 'security_rule_ids'],
  'rule_ids numbers_or_all': ['Security rule ID|all', 'security_rule_ids_all'],
  'user_id numbers': ['User ID', 'user_id'],
  'user_ids numbers': ['User ID', 'user_ids'],
  'user_ids numbers_or_all': ['User ID|all', 'user_ids_all'],
  'tasks_list numbers': ['Task ID', 'tasks_list'],
  'dhcp ': ['DHCP status', 'dhcp'],
}

export function schemaText(name: string, param: Param): string {
  const { type, format, values, min, max, minLength, maxLength, minItems } = param
  const [description, reference] = shared[`${name} ${format ?? ''}`] ?? []
  const number = type === 'integer' ? 'int32' : type === 'number' ? 'float' : undefined
  const members = {
    default: param.default,
    description,
    enum: values,
    format: format ?? number,
    maxLength,
    maximum: max,
    minItems,
    minLength,
    minimum: min,
    type,
    'x-scope': reference && ['', `#/components/parameters/${reference}`],
  }
  return repr(Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined)))
}
