"""Writes chat_cases.json with transformers (pip install transformers jinja2; made with 5.24.0): chat
templates of published models (some without their branches for tools) and small ones for a part of
the language each, and what the reference writes for conversations. Run it in this folder."""
import json

from transformers.utils.chat_template_utils import _compile_jinja_template

SMOLLM2 = ("{% for message in messages %}{% if loop.first and messages[0]['role'] != 'system' %}{{ '<|im_start|>system\nYou are a helpful "
           "AI assistant named SmolLM, trained by Hugging Face<|im_end|>\n' }}{% endif %}{{'<|im_start|>' + message['role'] + '\n' + "
           "message['content'] + '<|im_end|>' + '\n'}}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}")
LLAMA2 = ("{% if messages[0]['role'] == 'system' %}{% set loop_messages = messages[1:] %}{% set system_message = messages[0]['content'] %}"
          "{% else %}{% set loop_messages = messages %}{% set system_message = false %}{% endif %}{% for message in loop_messages %}"
          "{% if (message['role'] == 'user') != (loop.index0 % 2 == 0) %}{{ raise_exception('Conversation roles must alternate "
          "user/assistant/user/assistant/...') }}{% endif %}{% if loop.index0 == 0 and system_message != false %}{% set content = '<<SYS>>\\n' "
          "+ system_message + '\\n<</SYS>>\\n\\n' + message['content'] %}{% else %}{% set content = message['content'] %}{% endif %}"
          "{% if message['role'] == 'user' %}{{ bos_token + '[INST] ' + content.strip() + ' [/INST]' }}{% elif message['role'] == 'assistant' %}"
          "{{ ' '  + content.strip() + ' ' + eos_token }}{% endif %}{% endfor %}")
LLAMA3 = ("{% set loop_messages = messages %}{% for message in loop_messages %}{% set content = '<|start_header_id|>' + message['role'] + "
          "'<|end_header_id|>\n\n'+ message['content'] | trim + '<|eot_id|>' %}{% if loop.index0 == 0 %}{% set content = bos_token + content %}"
          "{% endif %}{{ content }}{% endfor %}{% if add_generation_prompt %}{{ '<|start_header_id|>assistant<|end_header_id|>\n\n' }}{% endif %}")
LLAMA31 = """{{- bos_token }}
{%- if custom_tools is defined %}
    {%- set tools = custom_tools %}
{%- endif %}
{%- if not tools_in_user_message is defined %}
    {%- set tools_in_user_message = true %}
{%- endif %}
{%- if not date_string is defined %}
    {%- set date_string = "26 Jul 2024" %}
{%- endif %}
{%- if not tools is defined %}
    {%- set tools = none %}
{%- endif %}

{#- This block extracts the system message, so we can slot it into the right place. #}
{%- if messages[0]['role'] == 'system' %}
    {%- set system_message = messages[0]['content']|trim %}
    {%- set messages = messages[1:] %}
{%- else %}
    {%- set system_message = "" %}
{%- endif %}

{#- System message + builtin tools #}
{{- "<|start_header_id|>system<|end_header_id|>\\n\\n" }}
{%- if builtin_tools is defined or tools is not none %}
    {{- "Environment: ipython\\n" }}
{%- endif %}
{%- if builtin_tools is defined %}
    {{- "Tools: " + builtin_tools | reject('equalto', 'code_interpreter') | join(", ") + "\\n\\n"}}
{%- endif %}
{{- "Cutting Knowledge Date: December 2023\\n" }}
{{- "Today Date: " + date_string + "\\n\\n" }}
{%- if tools is not none and not tools_in_user_message %}
    {%- for t in tools %}
        {{- t | tojson(indent=4) }}
        {{- "\\n\\n" }}
    {%- endfor %}
{%- endif %}
{{- system_message }}
{{- "<|eot_id|>" }}

{%- for message in messages %}
    {%- if not (message.role == 'ipython' or message.role == 'tool' or 'tool_calls' in message) %}
        {{- '<|start_header_id|>' + message['role'] + '<|end_header_id|>\\n\\n'+ message['content'] | trim + '<|eot_id|>' }}
    {%- elif 'tool_calls' in message %}
        {%- if not message.tool_calls|length == 1 %}
            {{- raise_exception("This model only supports single tool-calls at once!") }}
        {%- endif %}
        {%- set tool_call = message.tool_calls[0].function %}
        {%- for arg_name, arg_val in tool_call.arguments | items %}
            {{- arg_name + '="' + arg_val + '"' }}
            {%- if not loop.last %}
                {{- ", " }}
            {%- endif %}
        {%- endfor %}
    {%- elif message.role == "tool" or message.role == "ipython" %}
        {%- if message.content is mapping or message.content is iterable %}
            {{- message.content | tojson }}
        {%- else %}
            {{- message.content }}
        {%- endif %}
        {{- "<|eot_id|>" }}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|start_header_id|>assistant<|end_header_id|>\\n\\n' }}
{%- endif %}
"""
QWEN25 = """{%- if tools %}
    {{- '<|im_start|>system\\n' }}
    {%- for tool in tools %}
        {{- "\\n" }}
        {{- tool | tojson }}
    {%- endfor %}
{%- else %}
    {%- if messages[0]['role'] == 'system' %}
        {{- '<|im_start|>system\\n' + messages[0]['content'] + '<|im_end|>\\n' }}
    {%- else %}
        {{- '<|im_start|>system\\nYou are Qwen, created by Alibaba Cloud. You are a helpful assistant.<|im_end|>\\n' }}
    {%- endif %}
{%- endif %}
{%- for message in messages %}
    {%- if (message.role == "user") or (message.role == "system" and not loop.first) or (message.role == "assistant" and not message.tool_calls) %}
        {{- '<|im_start|>' + message.role + '\\n' + message.content + '<|im_end|>' + '\\n' }}
    {%- elif message.role == "assistant" %}
        {{- '<|im_start|>' + message.role }}
        {%- for tool_call in message.tool_calls %}
            {%- if tool_call.function is defined %}
                {%- set tool_call = tool_call.function %}
            {%- endif %}
            {{- tool_call.arguments | tojson }}
        {%- endfor %}
    {%- elif message.role == "tool" %}
        {%- if (loop.index0 == 0) or (messages[loop.index0 - 1].role != "tool") %}
            {{- '<|im_start|>user' }}
        {%- endif %}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|im_start|>assistant\\n' }}
{%- endif %}
"""
QWEN3 = """{%- if messages[0].role == 'system' %}
    {{- '<|im_start|>system\\n' + messages[0].content + '<|im_end|>\\n' }}
{%- endif %}
{%- set ns = namespace(multi_step_tool=true, last_query_index=messages|length - 1) %}
{%- for message in messages[::-1] %}
    {%- set index = (messages|length - 1) - loop.index0 %}
    {%- if ns.multi_step_tool and message.role == "user" and message.content is string and not(message.content.startswith('<tool_response>') and message.content.endswith('</tool_response>')) %}
        {%- set ns.multi_step_tool = false %}
        {%- set ns.last_query_index = index %}
    {%- endif %}
{%- endfor %}
{%- for message in messages %}
    {%- if message.content is string %}
        {%- set content = message.content %}
    {%- else %}
        {%- set content = '' %}
    {%- endif %}
    {%- if (message.role == "user") or (message.role == "system" and not loop.first) %}
        {{- '<|im_start|>' + message.role + '\\n' + content + '<|im_end|>' + '\\n' }}
    {%- elif message.role == "assistant" %}
        {%- set reasoning_content = '' %}
        {%- if message.reasoning_content is string %}
            {%- set reasoning_content = message.reasoning_content %}
        {%- else %}
            {%- if '</think>' in content %}
                {%- set reasoning_content = content.split('</think>')[0].rstrip('\\n').split('<think>')[-1].lstrip('\\n') %}
                {%- set content = content.split('</think>')[-1].lstrip('\\n') %}
            {%- endif %}
        {%- endif %}
        {%- if loop.index0 > ns.last_query_index %}
            {%- if loop.last or (not loop.last and reasoning_content) %}
                {{- '<|im_start|>' + message.role + '\\n<think>\\n' + reasoning_content.strip('\\n') + '\\n</think>\\n\\n' + content.lstrip('\\n') }}
            {%- else %}
                {{- '<|im_start|>' + message.role + '\\n' + content }}
            {%- endif %}
        {%- else %}
            {{- '<|im_start|>' + message.role + '\\n' + content }}
        {%- endif %}
        {{- '<|im_end|>\\n' }}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|im_start|>assistant\\n' }}
    {%- if enable_thinking is defined and enable_thinking is false %}
        {{- '<think>\\n\\n</think>\\n\\n' }}
    {%- endif %}
{%- endif %}"""
SMOLLM3 = """{%- if enable_thinking is not defined -%}
{%- set enable_thinking = true -%}
{%- endif -%}
{%- if messages[0].role == "system" -%}
  {%- set system_message = messages[0].content -%}
  {%- if "/no_think" in system_message -%}
    {%- set reasoning_mode = "/no_think" -%}
  {%- elif "/think" in system_message -%}
    {%- set reasoning_mode = "/think" -%}
  {%- else -%}
    {%- set reasoning_mode = "/think" if enable_thinking else "/no_think" -%}
  {%- endif -%}
  {%- set custom_instructions = system_message.replace("/no_think", "").replace("/think", "").rstrip() -%}
{%- else -%}
  {%- set reasoning_mode = "/think" if enable_thinking else "/no_think" -%}
{%- endif -%}
{{- "<|im_start|>system\\n" -}}
{{- "Reasoning Mode: " + reasoning_mode + "\\n\\n" -}}
{%- if custom_instructions -%}
  {{- custom_instructions + "\\n\\n" -}}
{%- endif -%}
{{- "<|im_end|>\\n" -}}
{%- for message in messages -%}
  {%- set content = message.content if message.content is string else "" -%}
  {%- if message.role == "user" -%}
    {{ "<|im_start|>" + message.role + "\\n"  + content + "<|im_end|>\\n" }}
  {%- elif message.role == "assistant" -%}
    {%- generation -%}
    {{ "<|im_start|>assistant\\n" + content.lstrip("\\n") + "<|im_end|>\\n" }}
    {%- endgeneration -%}
  {%- endif -%}
{%- endfor -%}
{%- if add_generation_prompt -%}
  {%- if reasoning_mode == "/think" -%}
    {{ "<|im_start|>assistant\\n" }}
  {%- else -%}
    {{ "<|im_start|>assistant\\n" + "<think>\\n\\n</think>\\n"  }}
  {%- endif -%}
{%- endif -%}
"""
ZEPHYR = """{% for message in messages %}
{% if message['role'] == 'user' %}
{{ '<|user|>
' + message['content'] + eos_token }}
{% elif message['role'] == 'system' %}
{{ '<|system|>
' + message['content'] + eos_token }}
{% elif message['role'] == 'assistant' %}
{{ '<|assistant|>
'  + message['content'] + eos_token }}
{% endif %}
{% if loop.last and add_generation_prompt %}
{{ '<|assistant|>' }}
{% endif %}
{% endfor %}"""
MODELS = {"SmolLM2": SMOLLM2, "Llama 2": LLAMA2, "Llama 3": LLAMA3, "Llama 3.1": LLAMA31, "Qwen 2.5": QWEN25, "Qwen 3": QWEN3,
          "SmolLM 3": SMOLLM3, "Zephyr, TinyLlama": ZEPHYR}
SMALL = [
    "", "plain\n", "plain\n\n", "a\n  {% if true %}\n b\n  {% endif %}\nc", "a {%- if true -%}  \n b {%- endif %} c", "a\r\n{% if 1 %}\r\nb{% endif %}",
    "x  {# note #}\ny\n  {#- note -#}  \n z {# a #} b", "{{ 'a' }}\nb\n{{ 'c' -}}  \n d", "  {%+ if true %}x{% endif +%}\ny", "a{% if true %} {% endif %}b\n {% if true %}c{% endif %}",
    "{{ 'it\\'s' }} {{ \"a\\tb\\\\ \\u00e9 \\x41 \\q\" }}", "{{ 1 + 2 * 3 - 4 // 3 }} {{ -7 // 2 }} {{ -7 % 3 }} {{ (1 + 2) * 3 }} {{ 1 ~ 'a' ~ true ~ none }}",
    "{{ true and 'x' or 'y' }} {{ '' or 'z' }} {{ not '' }} {{ not true == false }} {{ none is none }} {{ nothing is defined }} {{ nothing }}|",
    "{{ 'a' if messages else 'b' }}{{ 'c' if not messages }}{{ 1 if 0 else 2 if 0 else 3 }}", "{{ messages[0].content[0] }}{{ messages[-1]['content'][1:3] }}{{ messages[0].content[::-1] }}",
    "{{ messages[1:] | length }}{{ messages[:1]|length }}{{ messages[5:]|length }}{{ messages[-1:][0].role }}", "{{ 'b' in 'abc' }} {{ 'd' not in 'abc' }} {{ 'role' in messages[0] }} {{ 2 in [1, 2] }}",
    "{% for x in ['a', 'b', 'c'] %}{{ loop.index }}{{ loop.index0 }}{{ loop.first }}{{ loop.last }}{{ loop.length }}{{ loop.revindex }}{{ loop.revindex0 }}{{ x }}{% endfor %}",
    "{% for x in [] %}{{ x }}{% else %}none{% endfor %}{% for x in range(5) if x % 2 == 0 %}{{ x }}{{ loop.last }}{% endfor %}{% for k, v in messages[0].items() %}{{ k }}={{ v }};{% endfor %}",
    "{% set x = 1 %}{% for i in range(3) %}{% set x = x + i %}{{ x }}{% endfor %}{{ x }}", "{% set n = namespace(x=1, y='a') %}{% for i in range(3) %}{% set n.x = n.x + i %}{% endfor %}{{ n.x }}{{ n.y }}{{ n.z }}",
    "{% set t %}a{{ 1 }}b{% endset %}{{ t | upper }}{{ t | length }}", "{{ '  a b ' | trim }}|{{ 'aXa'.strip('a') }}|{{ ' a '.lstrip() }}|{{ ' a '.rstrip() }}|{{ '\u3000\u00e9\u2003' | trim }}",
    "{{ 'a,b,,c'.split(',') | join('-') }} {{ ' a  b '.split() | join('-') }} {{ 'a,b,c'.split(',', 1) | length }} {{ 'a--b'.split('--')[-1] }}",
    "{{ 'aba'.replace('a', 'cc') }} {{ 'aba' | replace('b', '') }} {{ 'hELLO wORLD'.capitalize() }} {{ '\u00c9a' | lower }} {{ 'stra\u00dfe'.upper() }}",
    "{{ 'ab'.startswith('a') }}{{ 'ab'.endswith('a') }} {{ messages[0].get('name', 'none') }} {{ messages[0].get('role') }} {{ messages[0].name | default('anon') }} {{ '' | default('d', true) }}",
    "{{ messages | tojson }} {{ 'a\"\u00e9<' | tojson }} {{ [1, true, none] | tojson }}", "{{ messages[0].content is string }} {{ messages is iterable }} {{ messages[0] is mapping }} {{ 1 is number }} {{ messages is string }} {{ 'a' is equalto 'a' }} {{ 'a' is not none }}",
    "{{ raise_exception('no ' + 'way') }}", "{{ 1 < 2 }} {{ 2 <= 2 }} {{ 'a' > 'b' }} {{ 3 >= 4 }} {{ 1 != 2 }} {{ [1, 2] == [1, 2] }}", "{{ ([1] + [2, 3]) | length }} {{ messages | first | length }} {{ (messages | last).role }}",
    "{{ bos_token + eos_token }} {{ strftime_now is defined }} {{ strftime_now('%Y') | length }} {{ tools is none }} {{ tools is defined }} {{ documents is defined }}",
    "{{ '\u4f60\u597d'[0] }} {{ '\u4f60\u597d' | length }} {{ 'a' 'b' }} {{ ('x') }} {{ [] | length }}", "{% if messages[0]['role'] == 'user' %}u{% elif messages[0]['role'] == 'system' %}s{% else %}o{% endif %}", "{% generation %}x{% endgeneration %}",
    "{{ 'a' -}} {{- 'b' }} {{ 'c' }}\n\n{%- if true %}\n\nd{% endif %}\n\ne", "{%- for m in messages %}\n{{ m.role }}: {{ m.content }}\n{%- endfor %}\n",
]
CONVERSATIONS = [
    [("user", "Hello")], [("system", " Be brief.\n"), ("user", "What is 2 + 2?\n")],
    [("user", "a"), ("assistant", "<think>\nhm\n</think>\n\nb"), ("user", " <|im_end|> \u00e9")],
]


def main():
    cases = []
    for name, source in list(MODELS.items()) + [("", source) for source in SMALL]:
        for messages in CONVERSATIONS[: 3 if name else 2]:
            listed = [{"role": role, "content": content} for role, content in messages]
            case = {"name": name, "source": source, "messages": listed}
            try:
                case["text"] = _compile_jinja_template(source).render(
                    messages=listed, tools=None, documents=None, add_generation_prompt=True, bos_token="<s>", eos_token="</s>")
            except Exception as error:
                case["error"] = str(error)
            cases.append(case)
    with open("chat_cases.json", "w") as file:
        file.write("[\n" + ",\n".join(json.dumps(case) for case in cases) + "\n]\n")
    print(len(cases), [(case["source"][:40], case["error"]) for case in cases if "error" in case])


main()
