/** Checks names of variables. Steps get variables as environment, so no name may change how programs start. */
import * as O from 'fp-ts/lib/Option.js'

/** These decide which code runs: search paths, preloaded libraries, start-up files, options. */
const DANGEROUS: ReadonlySet<string> = new Set([
  ...['PATH', 'PATHEXT', 'COMSPEC', 'SHELL', 'IFS', 'ENV', 'BASH_ENV', 'SHELLOPTS', 'BASHOPTS', 'CDPATH', 'GLOBIGNORE'],
  ...['PS0', 'PS1', 'PS2', 'PS3', 'PS4', 'PROMPT_COMMAND', 'ZDOTDIR', 'GCONV_PATH', 'HOSTALIASES', 'LOCALDOMAIN'],
  ...['NODE_OPTIONS', 'NODE_PATH', 'NODE_REPL_EXTERNAL_MODULE', 'PYTHONPATH', 'PYTHONHOME', 'PYTHONSTARTUP'],
  ...['PERL5LIB', 'PERL5OPT', 'RUBYLIB', 'RUBYOPT', 'JAVA_TOOL_OPTIONS', 'JDK_JAVA_OPTIONS', '_JAVA_OPTIONS'],
  ...['GIT_SSH', 'GIT_SSH_COMMAND', 'GIT_EXTERNAL_DIFF', 'GIT_ASKPASS', 'GIT_EXEC_PATH', 'GIT_PAGER', 'GIT_EDITOR'],
  ...['PAGER', 'EDITOR', 'VISUAL', 'BROWSER', 'LESSOPEN', 'MANPAGER', 'MAKEFLAGS', 'SSLKEYLOGFILE']
])

const DANGEROUS_PREFIX = /^(LD_|DYLD_|BASH_FUNC_|GIT_CONFIG|npm_config_|NPM_CONFIG_)/

const NAME = /^[A-Za-z_][A-Za-z0-9_]{0,127}$/

/** A shell sets these itself, which would hide the value. */
const SHELLS_OWN: ReadonlySet<string> = new Set([
  ...['_', 'PWD', 'OLDPWD', 'PPID', 'OPTIND', 'OPTARG', 'SHLVL', 'UID', 'EUID', 'GROUPS', 'LINENO', 'RANDOM'],
  ...['SECONDS', 'EPOCHSECONDS', 'EPOCHREALTIME'],
  ...['HOSTNAME', 'HOSTTYPE', 'MACHTYPE', 'OSTYPE', 'PIPESTATUS', 'FUNCNAME']
])

export const JSON_SCHEMA = {
  pattern: NAME.source,
  not: {
    anyOf: [{ enum: [...DANGEROUS, ...SHELLS_OWN] }, { pattern: DANGEROUS_PREFIX.source }, { pattern: '^DOGEAR_' }]
  }
}

/** Returns the end of a sentence, or none for a valid name. */
export const objection = (name: string): O.Option<string> => {
  if (!NAME.test(name)) {
    return O.some('a variable name consists of letters, digits and "_", and does not begin with a digit')
  }
  // Windows ignores the case of variables.
  const folded = process.platform === 'win32' ? name.toUpperCase() : name
  if (folded.startsWith('DOGEAR_')) return O.some('names that begin with DOGEAR_ are set by dogear itself')
  if (DANGEROUS.has(folded) || DANGEROUS_PREFIX.test(folded)) {
    return O.some('it would change how commands are found or started')
  }
  return SHELLS_OWN.has(folded) ? O.some('the shell sets it itself') : O.none
}
