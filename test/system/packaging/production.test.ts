/**
 * The commands of docs/production.md, one after the other as an operator runs them: two replicas with a Redis, HAProxy with the
 * lines of the page, and a rolling restart of which clients notice nothing.
 */
import { readFileSync } from 'node:fs'
import t from 'tap'
import { type Commands, testCommands } from '../../support/documents/page-commands.ts'
import { installed } from '../../support/installed.ts'
import { redisBinary } from '../../support/redis.ts'

for (const [name, of] of [
  ['curl', 'curl'],
  ['haproxy', 'haproxy'],
  ['openssl', 'openssl'],
] as const)
  installed({ variable: name.toUpperCase(), names: [name], package: of })

const path = 'docs/production.md'
const page = readFileSync(path, 'utf8')

const run = {}
const commands: Commands = {
  'npm ci': 'no registry; it has installed the node_modules of this checkout',
  'npm run package:deb': { before: 'touch "$repository/dist/in-use"', after: 'rm "$repository/dist/in-use"' },
  'apt-get install ./manager-edge_0.2.0-1_amd64.deb': run,
  'cd /etc/manager-edge': run,
  'cp edge.example.yaml edge.yaml': { after: 'configure; add_redis; add_bob' },
  'for n in 1 2; do echo "EDGE_AUDIT_FILE=/var/log/manager-edge/audit-$n.jsonl" > $n.env; done': run,
  'manager-edge user add alice --file users': run,
  'manager-edge token key keys': run,
  'chown -R root:manager-edge . && chmod -R u=rwX,g=rX,o= .': run,
  'scp -r root@FIRST-HOST:/etc/manager-edge/. /etc/manager-edge/': 'no second host',
  'chown -R root:manager-edge /etc/manager-edge && chmod -R u=rwX,g=rX,o= /etc/manager-edge': run,
  'runuser -u manager-edge -- manager-edge check --config /etc/manager-edge/edge.yaml --connect': run,
  'systemctl enable --now manager-edge@1 manager-edge@2': run,
  'curl --insecure https://127.0.0.1:55011/readyz': run,
  'curl --insecure https://127.0.0.1:55021/readyz': run,
  'cp /usr/share/doc/manager-edge/examples/haproxy.cfg /etc/haproxy/haproxy.cfg': {
    before: 'mkdir -p /etc/haproxy',
    after: 'write_replicas',
  },
  'haproxy -c -f /etc/haproxy/haproxy.cfg': run,
  'systemctl restart haproxy': run,
  "curl -u alice 'https://edge.example:55000/agents?limit=1'": run,
  'manager-edge doctor --config /etc/manager-edge/edge.yaml --balancer /etc/haproxy/haproxy.cfg': run,
  'for n in 1 2; do systemctl restart manager-edge@$n; until curl --insecure --fail --silent --show-error https://127.0.0.1:550${n}1/readyz; do sleep 1; done; sleep 5; done':
    { before: 'start_client', after: 'stop_client' },
  'apt-get install --allow-downgrades ./manager-edge_0.2.0-1_amd64.deb': { before: 'cd "$repository"' },
  'export MANAGER_EDGE_OPERATIONS=https://127.0.0.1:55011 MANAGER_EDGE_USER=alice': { before: 'cd /etc/manager-edge' },
  'export MANAGER_EDGE_FINGERPRINT=$(openssl x509 -noout -fingerprint -sha256 -in /etc/manager-edge/tls.crt | cut -d = -f 2)':
    run,
  // The replicas before the restart are forgotten after some seconds.
  'manager-edge problems': {
    before: 'for i in $(seq 100); do manager-edge problems >/dev/null && break; sleep 0.3; done',
  },
  'manager-edge top --once': run,
  'journalctl -u \'manager-edge@*\' | grep -E \'"level":"(warn|error|fatal)"\'':
    'no journal; the log of the test has these levels',
  "curl --insecure 'https://127.0.0.1:55011/readyz?verbose'": run,
  'manager-edge drain worker-1 --for 30m --reason OPS-123 --wait': run,
  'manager-edge undrain worker-1': run,
  'manager-edge explain GET /agents': run,
  'manager-edge purge --group agents': run,
  'manager-edge user remove bob --file users': run,
  'manager-edge audit verify /var/log/manager-edge/audit-1*': run,
  'tar -C / -czf /root/manager-edge.tar.gz etc/manager-edge var/log/manager-edge': {
    after: 'tar -tzf /root/manager-edge.tar.gz | grep -q etc/manager-edge/keys/',
  },
}

const [, lines = ''] = /^```\n( {4}bind .*?)^```/ms.exec(page) ?? []
const functions = `
# curl asks for a password at the terminal.
curl() { command curl "\${@/#alice/alice:$password}"; }
# The replicas share it. On loopback the edge allows a connection without TLS.
add_redis() {
  (cd /tmp && ${redisBinary()} --port 6379 --save '' --maxmemory 64mb --maxmemory-policy volatile-lru >/dev/null 2>&1 &)
  echo 'cache: { redis: { url: "redis://127.0.0.1:6379" } }' >> edge.yaml
}
add_bob() { manager-edge user add bob --file users --generate >/dev/null; }
# Writes the lines of the page, with the addresses and the certificate of the test.
write_replicas() {
  openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 30 -subj /CN=edge.example \\
    -addext subjectAltName=DNS:edge.example -keyout "$folder/key" -out "$folder/certificate" 2>/dev/null
  cat "$folder/certificate" "$folder/key" > /etc/haproxy/edge.pem
  cp tls.crt /etc/haproxy/edge-ca.pem
  sed 's/10\\.0\\.0\\.31/127.0.0.1/' "$folder/lines" > "$folder/local"
  sed -i -e '/^ *bind :55000/{r /dev/stdin
d}' -e '/^ *server edge-/d' /etc/haproxy/haproxy.cfg < <(grep bind "$folder/local")
  grep server "$folder/local" >> /etc/haproxy/haproxy.cfg
  echo '127.0.0.1 edge.example' >> /etc/hosts
  export CURL_CA_BUNDLE="$folder/certificate"
}
declare -A process
# What systemd does with an instance of the template, or with HAProxy.
start_service() {
  case $1 in
    haproxy) command haproxy -f /etc/haproxy/haproxy.cfg >"$folder/haproxy.log" 2>&1 & ;;
    *)
      local n=\${1#*@} unit=/usr/lib/systemd/system/manager-edge@.service
      local environment=$(sed -n 's/^Environment=//p' $unit | sed "s/%i/$n/g; s/%H/host/g")
      setpriv --reuid manager-edge --regid manager-edge --init-groups env $environment $(cat $n.env) \\
        $(sed -n 's/^ExecStart=//p' $unit) >>"$folder/edge-$n.log" 2>&1 &
      ;;
  esac
  process[$1]=$!
}
stop_service() {
  [ -n "\${process[$1]-}" ] || return 0
  kill \${process[$1]}; wait \${process[$1]}
}
wait_ready() {
  for i in $(seq 300); do command curl --insecure --fail --silent --output /dev/null "$1" && return 0; sleep 0.1; done
  tail -n 5 "$folder"/*.log
  return 1
}
systemctl() {
  local unit
  case $1 in
    enable)
      command systemctl "\${@/--now/--quiet}" || return
      for unit in "\${@:3}"; do start_service $unit; done
      for unit in "\${@:3}"; do wait_ready https://127.0.0.1:550\${unit#*@}1/readyz || return; done
      ;;
    restart)
      stop_service $2 || return
      start_service $2
      [ $2 != haproxy ] || wait_ready http://127.0.0.1:8404/
      ;;
  esac
}
# A client that sends requests through the balancer all the time, and writes what fails.
start_client() {
  sleep 3
  while [ ! -e "$folder/stop" ]; do
    curl -u alice --fail --silent --show-error --output /dev/null 'https://edge.example:55000/agents?limit=1' 2>>"$folder/failed" && echo >>"$folder/served"
  done &
  client=$!
}
stop_client() {
  touch "$folder/stop"; wait $client
  cat "$folder/failed"
  [ ! -s "$folder/failed" ] && [ -s "$folder/served" ]
}
`
t.match(lines, /server edge-1-1 .*\n.*server edge-1-2/, 'the page has lines for HAProxy')
testCommands(t, { path, commands, whole: true, functions, files: { lines } })
