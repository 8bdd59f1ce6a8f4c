/** Active configuration of the daemons that only a manager has, with the product's option names. */
import { COMMANDS } from '../main-configuration.ts'

export const internalOfAnalysis = {
  analysisd: {
    debug: 0,
    default_timeframe: 360,
    stats_maxdiff: 999000,
    stats_mindiff: 1250,
    stats_percent_diff: 150,
    fts_list_size: 32,
    fts_min_size_for_str: 14,
    log_fw: 1,
    decoder_order_size: 256,
    label_cache_maxage: 1,
    show_hidden_labels: 0,
    rlimit_nofile: 65536,
    min_rotate_interval: 600,
  },
}

export const internalOfRemote = {
  remoted: {
    recv_counter_flush: 128,
    comp_average_printout: 19999,
    verify_msg_id: 0,
    recv_timeout: 1,
    pass_empty_keyfile: 1,
    sender_pool: 8,
    request_pool: 1024,
    request_timeout: 10,
    response_timeout: 60,
    shared_reload: 10,
    rlimit_nofile: 65536,
    merge_shared: 1,
    guess_agent_group: 0,
  },
}

export const registration = {
  port: 1515,
  force_time: 'always',
  disabled: 'no',
  use_source_ip: 'yes',
  force_insert: 'yes',
  purge: 'yes',
  use_password: 'no',
  limit_maxagents: 'yes',
  ssl_verify_host: 'no',
  ssl_auto_negotiate: 'no',
  ssl_manager_cert: '/var/ossec/etc/sslmanager.cert',
  ssl_manager_key: '/var/ossec/etc/sslmanager.key',
}

export const agentless = {
  host: ['admin@192.0.2.108'],
  port: 0,
  frequency: 300,
  state: 'periodic_diff',
  arguments: '/etc /usr/bin /usr/sbin',
  type: 'ssh_integrity_check_linux',
}

export const commands = COMMANDS.map(([name, expect]) => ({
  name,
  executable: `${name}.sh`,
  timeout_allowed: expect === '' ? 0 : 1,
  ...(expect === '' ? {} : { expect }),
}))

export const mail = {
  email_to: ['operator@example.com'],
  email_from: 'manager@example.com',
  smtp_server: 'localhost',
  email_maxperhour: 12,
  email_log_source: 'alerts.log',
}

export const monitor = {
  day_wait: 10,
  compress: 1,
  sign: 1,
  monitor_agents: 1,
  keep_log_days: 31,
  rotate_log: 1,
  size_rotate: 536870912,
  daily_rotations: 12,
  delete_old_agents: 0,
}

export const virustotal = {
  name: 'virustotal',
  hook_url: '',
  api_key: 'not-a-real-key',
  level: 0,
  max_log: 165,
  group: 'syscheck',
}

export const remote = { connection: 'secure', ipv6: 'no', protocol: 'udp', port: '1514', queue_size: '131072' }
