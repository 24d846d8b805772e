"""The REST paths of tenants, and the operations behind them."""

from http import HTTPStatus

from tenants import agents, members, projects, tokens, wire
from tenants.caller import Scope
from tenants.ids import Prefix
from tenants.operations import Operation
from tenants.rest import endpoint
from tenants.whoami import whoami

_PROJECT = {"project_id": Prefix.PROJECT}
_MEMBER = {"member_id": Prefix.MEMBER}
_AGENT = {"agent_id": Prefix.AGENT}
_TOKEN = {"token_id": Prefix.TOKEN}

WHOAMI = Operation(whoami, None, gives=wire.WhoamiAnswer, changes=False)

CREATE_PROJECT = Operation(
    projects.create_project, Scope.ADMIN, takes=wire.CreateProject, gives=wire.ProjectAnswer
)
LIST_PROJECTS = Operation(
    projects.list_projects,
    Scope.ADMIN,
    takes=wire.Listing,
    gives=wire.pages_of(wire.ProjectAnswer),
    changes=False,
)
GET_PROJECT = Operation(
    projects.get_project, Scope.ADMIN, gives=wire.ProjectAnswer, path_ids=_PROJECT, changes=False
)
UPDATE_PROJECT = Operation(
    projects.update_project,
    Scope.ADMIN,
    takes=wire.UpdateProject,
    gives=wire.ProjectAnswer,
    path_ids=_PROJECT,
)
ARCHIVE_PROJECT = Operation(
    projects.archive_project, Scope.ADMIN, gives=wire.ProjectAnswer, path_ids=_PROJECT
)
LIST_PROJECT_MEMBERS = Operation(
    projects.list_project_members,
    Scope.ADMIN,
    takes=wire.Listing,
    gives=wire.pages_of(wire.SeatAnswer),
    path_ids=_PROJECT,
    changes=False,
)
SET_PROJECT_PERMISSIONS = Operation(
    projects.set_project_permissions,
    Scope.ADMIN,
    takes=wire.SetProjectPermissions,
    gives=wire.SeatAnswer,
    path_ids=_PROJECT,
)

CREATE_MEMBER = Operation(
    members.create_member, Scope.ADMIN, takes=wire.CreateMember, gives=wire.NewMemberAnswer
)
LIST_MEMBERS = Operation(
    members.list_members,
    Scope.ADMIN,
    takes=wire.Listing,
    gives=wire.pages_of(wire.MemberAnswer),
    changes=False,
)
GET_MEMBER = Operation(
    members.get_member, Scope.ADMIN, gives=wire.MemberAnswer, path_ids=_MEMBER, changes=False
)
UPDATE_MEMBER = Operation(
    members.update_member,
    Scope.ADMIN,
    takes=wire.UpdateMember,
    gives=wire.MemberAnswer,
    path_ids=_MEMBER,
)
DEACTIVATE_MEMBER = Operation(
    members.deactivate_member, Scope.ADMIN, gives=wire.MemberAnswer, path_ids=_MEMBER
)

CREATE_AGENT = Operation(
    agents.create_agent, Scope.ADMIN, takes=wire.CreateAgent, gives=wire.AgentAnswer
)
LIST_AGENTS = Operation(
    agents.list_agents,
    Scope.ADMIN,
    takes=wire.Listing,
    gives=wire.pages_of(wire.AgentAnswer),
    changes=False,
)
GET_AGENT = Operation(
    agents.get_agent, Scope.ADMIN, gives=wire.AgentAnswer, path_ids=_AGENT, changes=False
)
UPDATE_AGENT = Operation(
    agents.update_agent,
    Scope.ADMIN,
    takes=wire.UpdateAgent,
    gives=wire.AgentAnswer,
    path_ids=_AGENT,
)
DEACTIVATE_AGENT = Operation(
    agents.deactivate_agent, Scope.ADMIN, gives=wire.AgentAnswer, path_ids=_AGENT
)

CREATE_TOKEN = Operation(
    tokens.create_token,
    Scope.ADMIN,
    takes=wire.CreateToken,
    gives=wire.NewTokenAnswer,
    status=HTTPStatus.CREATED,
)
LIST_TOKENS = Operation(
    tokens.list_tokens,
    Scope.ADMIN,
    takes=wire.Listing,
    gives=wire.pages_of(wire.TokenAnswer),
    changes=False,
)
GET_TOKEN = Operation(
    tokens.get_token, Scope.ADMIN, gives=wire.TokenAnswer, path_ids=_TOKEN, changes=False
)
ROTATE_TOKEN = Operation(
    tokens.rotate_token,
    Scope.ADMIN,
    takes=wire.RotateToken,
    gives=wire.NewTokenAnswer,
    status=HTTPStatus.CREATED,
    path_ids=_TOKEN,
)
REVOKE_TOKEN = Operation(tokens.revoke_token, Scope.ADMIN, gives=wire.TokenAnswer, path_ids=_TOKEN)

urlpatterns = [
    endpoint("whoami", get=WHOAMI),
    endpoint("projects", get=LIST_PROJECTS, post=CREATE_PROJECT),
    endpoint(
        "projects/<str:project_id>",
        get=GET_PROJECT,
        patch=UPDATE_PROJECT,
        delete=ARCHIVE_PROJECT,
    ),
    endpoint(
        "projects/<str:project_id>/members", get=LIST_PROJECT_MEMBERS, put=SET_PROJECT_PERMISSIONS
    ),
    endpoint("members", get=LIST_MEMBERS, post=CREATE_MEMBER),
    endpoint(
        "members/<str:member_id>", get=GET_MEMBER, patch=UPDATE_MEMBER, delete=DEACTIVATE_MEMBER
    ),
    endpoint("agents", get=LIST_AGENTS, post=CREATE_AGENT),
    endpoint("agents/<str:agent_id>", get=GET_AGENT, patch=UPDATE_AGENT, delete=DEACTIVATE_AGENT),
    endpoint("tokens", get=LIST_TOKENS, post=CREATE_TOKEN),
    endpoint("tokens/<str:token_id>", get=GET_TOKEN, delete=REVOKE_TOKEN),
    endpoint("tokens/<str:token_id>/rotate", post=ROTATE_TOKEN),
]
