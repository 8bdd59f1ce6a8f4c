/** Response schemas of scans and assessments of an agent: syscheck, rootcheck, SCA and CIS-CAT. */
import { fieldsOf, integer, list, object, type Schema, TIME, text } from './schema.ts'

const time = text(`${TIME}.`)
const seconds: Schema = { type: ['string', 'integer'], description: `${TIME}; 0 or ND if there was no scan.` }

export const scanItems = {
  ScanTimes: object({ start: seconds, end: seconds }),
  SyscheckFile: object({
    file: text('The path, or the registry key.'),
    date: time,
    mtime: time,
    ...fieldsOf(text(), 'type?', 'uname?', 'gname?', 'uid?', 'gid?', 'perm?', 'md5?', 'sha1?', 'sha256?'),
    'size?': integer('Bytes.'),
    'inode?': integer(),
    'attributes?': text('Of files on Windows.'),
  }),
  RootcheckEvent: object({
    status: text('outstanding or solved.'),
    event: text(),
    oldDay: text(`First time: ${TIME}.`),
    readDay: text(`Last time: ${TIME}.`),
    'cis?': text('Requirement of CIS.'),
    'pci?': text('Requirement of PCI DSS.'),
  }),
  RootcheckRequirement: text('A requirement of CIS or of PCI DSS.'),
  ScaPolicy: object({
    policy_id: text(),
    name: text(),
    'description?': text(),
    'references?': text(),
    ...fieldsOf(integer('Number of checks.'), 'total_checks', 'pass', 'fail', 'invalid'),
    score: integer('Percent.'),
    start_scan: time,
    end_scan: time,
    hash_file: text(),
  }),
  ScaCheck: object({
    id: integer(),
    policy_id: text(),
    title: text(),
    'result?': text('passed, failed, or not applicable.'),
    ...fieldsOf(text(), 'description?', 'rationale?', 'remediation?', 'command?', 'status?', 'reason?'),
    ...fieldsOf(text(), 'references?', 'condition?', 'file?', 'process?', 'directory?', 'registry?'),
    compliance: list(object({ key: text(), value: text() })),
    rules: list(object({ type: text(), rule: text() })),
  }),
  CiscatResult: object({
    profile: text(),
    benchmark: text(),
    scan: object({ id: integer(), time: text('ISO 8601 with milliseconds and UTC offset.') }),
    ...fieldsOf(integer('Number of checks.'), 'pass', 'fail', 'error', 'notchecked', 'unknown'),
    score: integer('Percent.'),
  }),
} as const
