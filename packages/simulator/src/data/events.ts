/**
 * Events on a host, by theme, from which the rule files are generated. Each has a level, groups and the requirements of
 * standards that it covers.
 */

export type Theme = 'login' | 'service' | 'network' | 'web' | 'integrity' | 'resources'

export interface Event {
  readonly text: string
  readonly level: number
  readonly match: string
  /** Groups and requirements of the rule, comma-separated. */
  readonly groups: string
  /** The rule matches after this number of events in this number of seconds; it follows another event. */
  readonly repeated?: { readonly times: number; readonly seconds: number }
}

const FAILED =
  'pci_dss_10.2.4,pci_dss_10.2.5,gpg13_7.1,gdpr_IV_35.7.d,gdpr_IV_32.2,hipaa_164.312.b,nist_800_53_AU.14,nist_800_53_AC.7'
const ATTACK = 'pci_dss_6.5,pci_dss_11.4,gdpr_IV_35.7.d,nist_800_53_SI.4,nist_800_53_SA.11'
const CHANGED = 'pci_dss_11.5,gpg13_4.11,gdpr_II_5.1.f,hipaa_164.312.c.1,hipaa_164.312.c.2,nist_800_53_SI.7'
const OPERATED = 'pci_dss_10.6.1,gpg13_4.14,gdpr_IV_35.7.d,hipaa_164.312.b,nist_800_53_AU.6'

export const events: Readonly<Record<Theme, readonly Event[]>> = {
  login: [
    {
      text: 'authentication success.',
      level: 3,
      match: 'session opened|Accepted',
      groups: `authentication_success,pci_dss_10.2.5,gpg13_7.1,gpg13_7.2,gdpr_IV_32.2,hipaa_164.312.b,nist_800_53_AU.14,nist_800_53_AC.7`,
    },
    {
      text: 'authentication failed.',
      level: 5,
      match: 'authentication failure|Failed password',
      groups: `authentication_failed,${FAILED}`,
    },
    {
      text: 'login attempt with a user that does not exist.',
      level: 5,
      match: 'invalid user|unknown user',
      groups: `invalid_login,authentication_failed,pci_dss_10.6.1,${FAILED},nist_800_53_AU.6`,
    },
    { text: 'session closed.', level: 0, match: 'session closed|Disconnected', groups: 'gpg13_7.8' },
    {
      text: 'account locked.',
      level: 9,
      match: 'account locked|maximum attempts exceeded',
      groups: `account_changed,pci_dss_8.1.6,gpg13_7.5,gdpr_IV_35.7.d,hipaa_164.312.a.1,nist_800_53_AC.7`,
    },
    {
      text: 'brute force against one account.',
      level: 10,
      match: 'authentication failure',
      groups: `authentication_failures,pci_dss_11.4,${FAILED},nist_800_53_SI.4`,
      repeated: { times: 8, seconds: 120 },
    },
    {
      text: 'a privileged user logged in.',
      level: 4,
      match: 'user root|user admin',
      groups: `authentication_success,pci_dss_10.2.2,gpg13_7.6,gdpr_IV_32.2,hipaa_164.312.b,nist_800_53_AC.6`,
    },
  ],
  service: [
    { text: 'service started.', level: 3, match: 'started|Starting', groups: `service_start,${OPERATED}` },
    { text: 'service stopped.', level: 4, match: 'stopped|shutting down', groups: `service_availability,${OPERATED}` },
    {
      text: 'settings were changed.',
      level: 5,
      match: 'configuration changed|reloaded',
      groups: `config_changed,pci_dss_10.2.7,gpg13_4.13,gdpr_IV_35.7.d,nist_800_53_CM.3`,
    },
    {
      text: 'settings are not valid.',
      level: 7,
      match: 'syntax error|invalid option',
      groups: `errors,pci_dss_10.6.1,gpg13_4.3,gdpr_IV_35.7.d,nist_800_53_CM.1`,
    },
    {
      text: 'fatal error, the process ended.',
      level: 9,
      match: 'fatal|segfault',
      groups: `service_availability,gpg13_4.14,nist_800_53_AU.5`,
    },
    { text: 'debug output.', level: 0, match: 'debug', groups: '' },
    { text: 'a licence is about to expire.', level: 2, match: 'expire', groups: 'low_diskspace,gpg13_10.1' },
  ],
  network: [
    {
      text: 'connection refused.',
      level: 4,
      match: 'connection refused|rejected',
      groups: `access_denied,pci_dss_1.4,gpg13_4.12,gdpr_IV_35.7.d,nist_800_53_SC.7`,
    },
    {
      text: 'traffic was dropped.',
      level: 5,
      match: 'DROP|DENY',
      groups: `firewall_drop,pci_dss_1.4,gpg13_4.12,gdpr_IV_35.7.d,nist_800_53_SC.7`,
    },
    {
      text: 'many drops from the same source.',
      level: 10,
      match: 'DROP',
      groups: `multiple_drops,pci_dss_1.4,pci_dss_10.6.1,gpg13_4.12,gdpr_IV_35.7.d,nist_800_53_SC.7,nist_800_53_AU.6`,
      repeated: { times: 18, seconds: 45 },
    },
    {
      text: 'port scan.',
      level: 8,
      match: 'scan',
      groups: `recon,pci_dss_11.4,gpg13_4.12,gdpr_IV_35.7.d,nist_800_53_SI.4`,
    },
    { text: 'address changed.', level: 3, match: 'new address|lease', groups: 'dhcp,gpg13_4.13' },
    {
      text: 'certificate refused.',
      level: 6,
      match: 'certificate verify failed',
      groups: `ssl,pci_dss_4.1,gpg13_4.13,gdpr_IV_32.2,hipaa_164.312.e.1,nist_800_53_SC.8`,
    },
  ],
  web: [
    { text: 'request answered with a client error.', level: 5, match: ' 40[0-9] ', groups: `attack,${ATTACK}` },
    { text: 'request answered with a server error.', level: 5, match: ' 50[0-9] ', groups: 'system_error,gpg13_4.3' },
    {
      text: 'SQL injection attempt.',
      level: 7,
      match: 'union select|select+|insert+',
      groups: `attack,sql_injection,pci_dss_6.5.1,${ATTACK}`,
    },
    {
      text: 'cross-site scripting attempt.',
      level: 6,
      match: '%3Cscript|&lt;script',
      groups: `attack,xss,pci_dss_6.5.7,${ATTACK}`,
    },
    { text: 'path traversal attempt.', level: 7, match: '../..|%2e%2e', groups: `attack,pci_dss_6.5.8,${ATTACK}` },
    {
      text: 'many client errors from the same source.',
      level: 10,
      match: ' 40[0-9] ',
      groups: `web_scan,recon,${ATTACK}`,
      repeated: { times: 14, seconds: 90 },
    },
  ],
  integrity: [
    { text: 'file added.', level: 5, match: 'New file', groups: `syscheck_entry_added,${CHANGED}` },
    { text: 'file changed.', level: 7, match: 'checksum changed', groups: `syscheck_entry_modified,${CHANGED}` },
    { text: 'file removed.', level: 7, match: 'was deleted', groups: `syscheck_entry_deleted,${CHANGED}` },
    {
      text: 'trojan signature found.',
      level: 12,
      match: 'Trojaned version|infected',
      groups: `virus,pci_dss_5.1,pci_dss_5.2,gpg13_4.2,gdpr_IV_35.7.d,nist_800_53_SI.3`,
    },
    {
      text: 'policy check failed.',
      level: 7,
      match: 'check failed|not compliant',
      groups: `policy_violation,pci_dss_2.2,gpg13_4.3,gdpr_IV_35.7.d,nist_800_53_CM.1`,
    },
    { text: 'policy check passed.', level: 3, match: 'check passed', groups: `pci_dss_2.2,nist_800_53_CM.1` },
  ],
  resources: [
    {
      text: 'disk is full.',
      level: 8,
      match: 'No space left',
      groups: `low_diskspace,pci_dss_10.6.1,gpg13_10.1,gdpr_IV_35.7.d,hipaa_164.312.b,nist_800_53_AU.6`,
    },
    {
      text: 'memory is exhausted.',
      level: 9,
      match: 'Out of memory',
      groups: `service_availability,gpg13_4.14,nist_800_53_SC.5`,
    },
    { text: 'input or output error.', level: 7, match: 'I/O error', groups: `system_error,gpg13_10.1` },
    {
      text: 'clock was set.',
      level: 4,
      match: 'time reset|clock step',
      groups: `time_changed,pci_dss_10.4,gpg13_4.13,nist_800_53_AU.8`,
    },
    { text: 'task took too long.', level: 2, match: 'timed out', groups: 'gpg13_4.14' },
  ],
}
