"""The shapes of keys and tokens, as those who issue them document them."""

# Longer shapes are bounded below only: an issuer may lengthen its keys. The end of a key is where
# its alphabet ends; a letter before the beginning makes it part of some longer name.
FORMATS = {
    "palimpsest token": r"plm_[A-Za-z0-9]{36}(?![A-Za-z0-9_])",
    "AWS access key id": r"(?:AKIA|ASIA|ABIA|ACCA)[A-Z2-7]{16}(?![A-Za-z0-9])",
    "GitHub token": r"gh[pousr]_[A-Za-z0-9]{36,255}",
    "GitHub fine-grained token": r"github_pat_[A-Za-z0-9]{22}_[A-Za-z0-9]{59}",
    "GitLab token": r"gl(?:pat|dt|rt|ptt|cbt|ft|soat|oas|imt|agent|ffct)-[A-Za-z0-9_-]{20,300}",
    "Slack token": r"xox[abeoprs]-(?:\d-)?[A-Za-z0-9-]{20,250}",
    "Slack app token": r"xapp-\d-[A-Z0-9]{6,20}-\d{6,20}-[a-f0-9]{32,80}",
    "Slack webhook": (
        r"hooks\.slack\.com/(?:services|workflows|triggers)/T[A-Z0-9]{6,12}/[A-Za-z0-9]{6,"
        r"20}/[A-Za-z0-9/]{16,60}"
    ),
    "Discord webhook": r"discord(?:app)?\.com/api/webhooks/\d{17,20}/[A-Za-z0-9_-]{60,80}",
    "Stripe key": r"(?:sk|rk)_(?:live|test|prod)_[A-Za-z0-9]{16,250}",
    "Stripe webhook secret": r"whsec_[A-Za-z0-9+/=]{24,80}",
    "Anthropic key": r"sk-ant-[a-z0-9]{2,12}-[A-Za-z0-9_-]{32,200}",
    "OpenAI key": (
        r"sk-(?:proj-|svcacct-|admin-|None-)?[A-Za-z0-9_-]{20,74}T3BlbkFJ[A-Za"
        r"-z0-9_-]{20,74}"
    ),
    "OpenAI project key": r"sk-(?:proj|svcacct|admin|or-v1)-[A-Za-z0-9_-]{40,250}",
    "sk- key": r"sk-[A-Za-z0-9]{32,64}(?![A-Za-z0-9_-])",
    "Groq key": r"gsk_[A-Za-z0-9]{40,60}",
    "xAI key": r"xai-[A-Za-z0-9]{70,90}",
    "Replicate token": r"r8_[A-Za-z0-9]{37,40}(?![A-Za-z0-9])",
    "Google API key": r"AIza[A-Za-z0-9_-]{35}(?![A-Za-z0-9_-])",
    "Google OAuth secret": r"GOCSPX-[A-Za-z0-9_-]{28}(?![A-Za-z0-9_-])",
    "Google OAuth token": r"ya29\.[A-Za-z0-9_-]{30,1000}",
    "npm token": r"npm_[A-Za-z0-9]{36}(?![A-Za-z0-9_])",
    "PyPI token": r"pypi-AgE[A-Za-z0-9_-]{50,1000}",
    "RubyGems key": r"rubygems_[a-f0-9]{48}(?![a-f0-9])",
    "crates.io token": r"cio[A-Za-z0-9]{32}(?![A-Za-z0-9_])",
    "Docker Hub token": r"dckr_(?:pat|oat)_[A-Za-z0-9_-]{27,40}",
    "Twilio key": r"SK[0-9a-f]{32}(?![A-Za-z0-9])",
    "SendGrid key": r"SG\.[A-Za-z0-9_-]{22}\.[A-Za-z0-9_-]{43}(?![A-Za-z0-9_-])",
    "Mailgun key": r"(?<!-)key-[0-9a-f]{32}(?![A-Za-z0-9])",
    "Mailchimp key": r"[0-9a-f]{32}-us\d{1,2}(?![A-Za-z0-9])",
    "Telegram bot token": r"\d{8,10}:AA[A-Za-z0-9_-]{33}(?![A-Za-z0-9_-])",
    "Discord bot token": (
        r"[MNO][A-Za-z0-9_-]{23,27}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,40}"
        r"(?![A-Za-z0-9_.-])"
    ),
    "Hugging Face token": r"(?:hf|api_org)_[A-Za-z]{34,40}(?![A-Za-z0-9_])",
    "DigitalOcean token": r"do[opr]_v1_[a-f0-9]{64}(?![A-Za-z0-9])",
    "Heroku key": r"HRKU-[A-Za-z0-9_-]{36,80}",
    "Databricks token": r"dapi[a-f0-9]{32}(?:-\d)?(?![A-Za-z0-9])",
    "Doppler token": (
        r"dp\.(?:pt|st|ct|sa|scim|audit)\.(?:[a-z0-9_-]{2,40}\.)?[A-Za-z0-9]{40,44}"
        r"(?![A-Za-z0-9])"
    ),
    "Vault token": r"hv[sbr]\.[A-Za-z0-9_-]{24,300}",
    "Terraform token": r"[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_-]{60,70}",
    "Shopify token": r"shp(?:at|ca|pa|ss)_[a-fA-F0-9]{32}(?![A-Za-z0-9])",
    "Square token": (
        r"(?:sq0(?:atp|csp|idp)-[A-Za-z0-9_-]{22,50}|EAAA[A-Za-z0-9_-]{60})"
        r"(?![A-Za-z0-9_-])"
    ),
    "Linear key": r"lin_(?:api|oauth)_[A-Za-z0-9]{40,64}",
    "Notion token": r"(?:secret_[A-Za-z0-9]{43}|ntn_[A-Za-z0-9]{40,60})(?![A-Za-z0-9_])",
    "Figma token": r"figd_[A-Za-z0-9_-]{40,60}",
    "Airtable token": r"pat[A-Za-z0-9]{14}\.[a-f0-9]{64}(?![A-Za-z0-9])",
    "Atlassian token": r"ATATT3[A-Za-z0-9_=-]{100,300}",
    "Postman key": r"PMAK-[a-f0-9]{24}-[a-f0-9]{34}(?![A-Za-z0-9])",
    "New Relic key": r"NRAK-[A-Z0-9]{27}(?![A-Za-z0-9])",
    "Grafana token": r"gl(?:sa|c)_[A-Za-z0-9+/]{32,300}(?:_[a-f0-9]{8})?",
    "Sentry token": r"sntry[su]_[A-Za-z0-9+/=_-]{40,300}",
    "Supabase key": r"sb(?:p|_secret)_[A-Za-z0-9_-]{30,60}",
    "PlanetScale secret": r"pscale_(?:pw|tkn|oauth)_[A-Za-z0-9_.-]{32,64}",
    "Tailscale key": r"tskey-[a-z]{2,10}-[A-Za-z0-9]{8,20}-[A-Za-z0-9]{20,40}",
    "1Password token": r"ops_eyJ[A-Za-z0-9+/_-]{200,2000}",
    "age key": r"AGE-SECRET-KEY-1[0-9A-Z]{58}",
    "Alibaba access key": r"LTAI[A-Za-z0-9]{16,24}(?![A-Za-z0-9])",
    "Fastly or Cloudflare token": (
        r"(?:v1\.0-[a-f0-9]{24}-[a-f0-9]{146}|cf[aku]t_[A-Za-z0-9_-]{40,80})"
    ),
    "JSON web token": (
        r"(?<![.-])eyJ[A-Za-z0-9_-]{8,4000}+\.[A-Za"
        r"-z0-9_-]{8,8000}+\.[A-Za-z0-9_-]{16,1400}"
    ),
}
