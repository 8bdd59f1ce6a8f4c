/** Active configuration of scanners, log collector and modules; with the product's option names. */

const watched = ['/etc', '/usr/bin', '/usr/sbin', '/bin', '/sbin', '/boot'].map((dir) => ({
  opts: [
    'check_md5sum',
    'check_sha1sum',
    'check_perm',
    'check_size',
    'check_owner',
    'check_group',
    'check_mtime',
    'check_inode',
    'check_sha256sum',
  ],
  dir,
  recursion_level: 256,
}))

export const syscheck = {
  disabled: 'no',
  frequency: 43200,
  skip_nfs: 'yes',
  scan_on_start: 'yes',
  directories: watched,
  nodiff: ['/etc/ssl/private.key'],
  ignore: ['/etc/mtab', '/etc/hosts.deny', '/etc/random-seed', '/etc/adjtime', '/etc/cups/certs', '/dev/core'],
  ignore_sregex: ['^/proc'],
  whodata: { restart_audit: 'yes', startup_healthcheck: 'yes' },
  allow_remote_prefilter_cmd: 'no',
}

export const rootcheck = {
  disabled: 'no',
  base_directory: '',
  rootkit_files: '/var/ossec/etc/rootcheck/rootkit_files.txt',
  rootkit_trojans: '/var/ossec/etc/rootcheck/rootkit_trojans.txt',
  scanall: 'no',
  skip_nfs: 'yes',
  frequency: 43200,
  check_dev: 'yes',
  check_files: 'yes',
  check_if: 'yes',
  check_pids: 'yes',
  check_ports: 'yes',
  check_sys: 'yes',
  check_trojans: 'yes',
  check_unixaudit: 'no',
}

export const syscheckInternal = {
  syscheck: { sleep: 1, max_files_per_second: 0, rt_delay: 10, default_max_depth: 256, symlink_scan_interval: 600 },
  rootcheck: { sleep: 50 },
}

export const logcollectorInternal = {
  logcollector: {
    remote_commands: 0,
    loop_timeout: 2,
    open_attempts: 8,
    vcheck_files: 64,
    max_lines: 10000,
    max_files: 1000,
    sock_fail_time: 300,
    input_threads: 4,
    queue_size: 1024,
    sample_log_length: 64,
    force_reload: 0,
    reload_interval: 64,
    reload_delay: 1000,
    rlimit_nofile: 1100,
  },
}

const command = {
  logformat: 'command',
  command: 'df -P',
  alias: 'df -P',
  ignore_binaries: 'no',
  target: ['agent'],
  frequency: 360,
  'only-future-events': 'yes',
}

export const localfile = [
  {
    file: '/var/ossec/logs/active-responses.log',
    logformat: 'syslog',
    ignore_binaries: 'no',
    target: ['agent'],
    'only-future-events': 'yes',
  },
  command,
  { ...command, logformat: 'full_command', command: 'last -n 20', alias: 'last -n 20' },
]

export const socket = [
  { name: 'custom_socket', location: '/var/run/custom.sock', mode: 'tcp', prefix: 'custom_syslog: ' },
]

export const execdInternal = { execd: { request_timeout: 60, max_restart_lock: 600 } }

export const modules = [
  { 'open-scap': { disabled: 'yes', 'scan-on-start': 'yes', interval: 86400, timeout: 1800 } },
  {
    'cis-cat': {
      disabled: 'no',
      'scan-on-start': 'yes',
      interval: 86400,
      java_path: 'wodles/java',
      ciscat_path: 'wodles/ciscat',
      timeout: 1800,
    },
  },
  {
    syscollector: {
      disabled: 'no',
      'scan-on-start': 'yes',
      interval: 3600,
      network: 'yes',
      os: 'yes',
      hardware: 'yes',
      packages: 'yes',
      ports: 'yes',
      ports_all: 'no',
      processes: 'yes',
    },
  },
  {
    sca: {
      enabled: 'yes',
      scan_on_start: 'yes',
      skip_nfs: 'yes',
      interval: 43200,
      policies: ['/var/ossec/ruleset/sca/cis_debian9_L1.yml', '/var/ossec/ruleset/sca/cis_debian9_L2.yml'],
    },
  },
]
